import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";

const transport = createConnectTransport({ baseUrl: location.origin, useBinaryFormat: true });

/** Traces, over the page's own origin; the session's cookie goes along. */
export const traces = createClient(TraceService, transport);

/** Tasks, for cancelling and for finding a task's trace. */
export const tasks = createClient(TaskService, transport);

/** True when the session has ended. */
export function isSignedOut(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

/** True for what the same request will never get: trying again is no use. */
export function isFinal(error: unknown): boolean {
  const finals = [Code.Unauthenticated, Code.PermissionDenied, Code.NotFound, Code.InvalidArgument, Code.Unimplemented];
  return finals.includes(ConnectError.from(error).code);
}

/** One sentence for a person. */
export function messageOf(error: unknown): string {
  const { code, rawMessage } = ConnectError.from(error);
  if (code === Code.Unknown || code === Code.Unavailable) return "The server cannot be reached.";
  return rawMessage === "" ? "The server did not answer." : rawMessage;
}
