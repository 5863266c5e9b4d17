import { connectNats } from "@drover/bus";
import { openDatabase } from "@drover/postgres";
import type { Environment } from "@drover/runtime";
import { readConfig } from "./config.ts";
import { createBusSignals } from "./infrastructure/bus-signals.ts";
import { createPostgresTaskStore, systemJobs } from "./infrastructure/postgres-task-store.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";

/** Longest wait for Postgres, and for NATS, ms. */
const patienceMs = 1_000;

/**
 * Lets go of the tasks that an earlier process of this name (DROVER_REPLICA) held, tells the other replicas, and gives
 * their number. It needs little of the service, so that a process which starts again can do it before it has loaded the
 * rest, and the tasks wait for neither that nor the end of their lease. What fails here is left to the worker, which
 * does the same when it starts. A process of the same name that is still alive loses nothing but tasks: the epoch of the
 * next claim fences it off, and it takes none back.
 */
export async function letGo(environment: Environment): Promise<number> {
  const { DROVER_REPLICA: name, DATABASE_URL: url, NATS_URL: bus } = readConfig(environment);
  if (name === undefined) return 0;
  try {
    await using database = openDatabase<OrchestratorSchema>({
      ...{ url, service: "orchestrator", systemJobs, systemPoolMax: 1, connectTimeoutMs: patienceMs },
    });
    const released = await createPostgresTaskStore(database).reclaim(name);
    if (released > 0 && bus !== undefined) await wakeOthers(bus);
    return released;
  } catch {
    return 0;
  }
}

async function wakeOthers(url: string): Promise<void> {
  await using bus = await connectNats({ url, name: "orchestrator-start", connectTimeoutMs: patienceMs });
  createBusSignals(bus, () => undefined).ready("");
}
