import { systemClock } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { PrivacyService } from "@drover/proto/orchestrator/v1/privacy_service";
import type { RpcRouter } from "@drover/rpc";
import type { Tracer } from "@drover/tracing";
import { createPrivacyService } from "./api/privacy-service.ts";
import type { TaskSignals, TaskStore } from "./application/ports.ts";
import { startPurgeRunner } from "./application/purge-runner.ts";
import type { Peers } from "./infrastructure/peers.ts";
import { createPostgresPurgeStore } from "./infrastructure/postgres-purge-store.ts";
import { createRpcErasers } from "./infrastructure/rpc-erasers.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";

/** Composes removals: the rpcs, and what works on them by itself; disposing of that leaves them to other replicas. */
export function composePrivacy(parts: {
  readonly database: Database<OrchestratorSchema>;
  readonly peers: Peers;
  readonly store: TaskStore;
  readonly signals: TaskSignals;
  readonly tracer: Tracer;
  readonly onFault: (fault: unknown, what: string) => void;
  readonly replica: string;
  readonly leaseTtlMs: number;
  readonly pollMs: number;
  readonly settleMs: number;
  readonly receiptDays: number;
}) {
  const { database, peers, leaseTtlMs, ...rest } = parts;
  const purges = createPostgresPurgeStore(database, leaseTtlMs);
  // A call that hangs ends before its claim does, so that its failure can be recorded.
  const erasers = createRpcErasers(peers, leaseTtlMs / 2);
  let wake: () => void = () => undefined;
  return {
    serve: (router: RpcRouter) => router.service(PrivacyService, createPrivacyService({ purges, wake: () => wake() })),
    start(): AsyncDisposable {
      const runner = startPurgeRunner({ ...rest, purges, erasers, clock: systemClock });
      wake = runner.wake;
      return runner;
    },
  };
}
