import type { CallOptions } from "@connectrpc/connect";
import { actingAs } from "@drover/rpc";
import type { CallScope } from "../application/ports.ts";

/**
 * Options of a call to another service on behalf of a task: its tenant and subject as they stand in
 * the task's row, the scopes that this call needs and no others, and its place in the trace.
 */
export function actingFor(scope: CallScope, scopes: readonly string[], signal: AbortSignal): CallOptions {
  const caller = { tenant: scope.tenant, subject: scope.subject, scopes, taskId: scope.taskId };
  return { signal, contextValues: actingAs(caller, scope.trace) };
}
