import { systemClock } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import type { Tracer } from "@drover/tracing";
import { workAfterTasks } from "./application/after-tasks.ts";
import type { TaskStore } from "./application/ports.ts";
import { afterTaskTimesOf, type readConfig } from "./config.ts";
import type { Peers } from "./infrastructure/peers.ts";
import { createPostgresAfterTasks } from "./infrastructure/postgres-after-tasks.ts";
import { createRpcFacts } from "./infrastructure/rpc-facts.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";

/** Starts what tells long-term memory of tasks that have ended; disposing of it leaves that to other replicas. */
export function keepMemory(parts: {
  readonly config: ReturnType<typeof readConfig>;
  readonly database: Database<OrchestratorSchema>;
  readonly peers: Peers;
  readonly store: TaskStore;
  readonly tracer: Tracer;
  readonly onFault: (fault: unknown, what: string) => void;
}): AsyncDisposable {
  const { config, database, peers, store, tracer, onFault } = parts;
  return workAfterTasks({
    ...{ after: createPostgresAfterTasks(database), facts: createRpcFacts(peers.memory) },
    ...{ store, tracer, onFault, clock: systemClock },
    ...afterTaskTimesOf(config),
  });
}
