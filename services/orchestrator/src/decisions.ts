import { systemClock } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { ApprovalService } from "@drover/proto/orchestrator/v1/approval_service";
import type { RpcRouter } from "@drover/rpc";
import type { Tracer } from "@drover/tracing";
import { createApprovalService } from "./api/approval-service.ts";
import { policyRpcs } from "./api/policy-rpcs.ts";
import { expireApprovals } from "./application/expire-approvals.ts";
import { PolicyBook } from "./application/policy-book.ts";
import type { TaskSignals } from "./application/ports.ts";
import type { ToolBox, ToolCatalog } from "./application/tool-ports.ts";
import { ApprovalHubs } from "./application/watch-approvals.ts";
import { createLinearPatterns } from "./infrastructure/linear-patterns.ts";
import { createPostgresApprovalStore } from "./infrastructure/postgres-approval-store.ts";
import { createPostgresPolicyStore } from "./infrastructure/postgres-policy-store.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";

/**
 * Composes policies and approvals: the book of rules for the loop, the rpcs, and the sweeper of what nobody decided.
 */
export function composeDecisions(parts: {
  readonly database: Database<OrchestratorSchema>;
  readonly signals: TaskSignals;
  readonly tools: ToolBox;
  readonly catalog: ToolCatalog;
  readonly tracer: Tracer;
  readonly onFault: (fault: unknown, what: string) => void;
  readonly heartbeatMs: number;
  readonly pollMs: number;
  readonly expiryMs: number;
}) {
  const { database, signals, tools, catalog, tracer, onFault, heartbeatMs, pollMs, expiryMs } = parts;
  const patterns = createLinearPatterns();
  const policies = createPostgresPolicyStore(database);
  const approvals = createPostgresApprovalStore(database);
  const book = new PolicyBook(policies, patterns);
  const shared = { approvals, signals, tracer, clock: systemClock, onFault };
  const hubs = new ApprovalHubs({ ...shared, heartbeatMs, pollMs });
  return {
    book,
    patterns,
    /** Those of AgentService that are about policies. */
    policyRpcs: policyRpcs({ policies, patterns, book, tools }),
    serve: (router: RpcRouter) =>
      router.service(ApprovalService, createApprovalService({ approvals, book, catalog, signals, tracer, hubs })),
    /** Starts what runs by itself; disposing ends it and the watches of approvals. */
    start(): AsyncDisposable {
      const sweeper = expireApprovals({ ...shared, everyMs: expiryMs });
      return {
        async [Symbol.asyncDispose]() {
          await hubs[Symbol.asyncDispose]();
          await sweeper[Symbol.asyncDispose]();
        },
      };
    },
  };
}
