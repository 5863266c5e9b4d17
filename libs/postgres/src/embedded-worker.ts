import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import type { EmbeddedWorkerData, EmbeddedWorkerMessage } from "./embedded.ts";

// A statement of a second stops the thread that runs it for a second, so the database has a thread of its own.
const maxConnections = 256;

const { clusterDir, port } = workerData as EmbeddedWorkerData;
const tell = (message: EmbeddedWorkerMessage) => parentPort?.postMessage(message);

try {
  const db = await PGlite.create({ dataDir: clusterDir, extensions: { vector, pg_trgm } });
  const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port, maxConnections });
  await server.start();
  parentPort?.once("message", async () => {
    await server.stop();
    await db.close();
    process.exit(0);
  });
  tell({ kind: "ready", port: Number(server.getServerConn().split(":").at(-1)) });
} catch (error) {
  tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
}
