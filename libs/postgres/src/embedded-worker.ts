import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { vector } from "@electric-sql/pglite-pgvector";
import type { EmbeddedWorkerData, EmbeddedWorkerMessage } from "./embedded.ts";
import { serveProtocol } from "./embedded-server.ts";

// The program of the thread: a statement of a second stops the thread that runs it for a second.
const { clusterDir, port, password } = workerData as EmbeddedWorkerData;
const tell = (message: EmbeddedWorkerMessage) => parentPort?.postMessage(message);

try {
  const db = await PGlite.create({ dataDir: clusterDir, extensions: { vector, pg_trgm } });
  const server = await serveProtocol(db, port, password);
  parentPort?.once("message", async () => {
    await server[Symbol.asyncDispose]();
    await db.close();
    process.exit(0);
  });
  tell({ kind: "ready", port: server.port });
} catch (error) {
  tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
}
