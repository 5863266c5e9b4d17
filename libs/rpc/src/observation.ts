import type { DescMethod } from "@bufbuild/protobuf";
import type { DroverError, ErrorCode } from "@drover/kernel";
import type { Logger, Metrics } from "@drover/runtime";
import type { RpcContext } from "./rpc-context.ts";

/** Told of the end of every call of one method. */
export type CallObserver = (context: RpcContext, startedMs: number, error: DroverError | undefined) => void;

/** What a failure means for whoever reads the log; INTERNAL is a defect, the rest is an answer. */
const levels: Readonly<Record<ErrorCode, "debug" | "info" | "warn" | "error">> = {
  INVALID_ARGUMENT: "info",
  NOT_FOUND: "info",
  ALREADY_EXISTS: "info",
  PERMISSION_DENIED: "warn",
  UNAUTHENTICATED: "warn",
  FAILED_PRECONDITION: "info",
  ABORTED: "info",
  RESOURCE_EXHAUSTED: "warn",
  DEADLINE_EXCEEDED: "warn",
  CANCELLED: "debug",
  UNAVAILABLE: "warn",
  UNIMPLEMENTED: "warn",
  INTERNAL: "error",
};

/**
 * Measures each call of a method by code in `drover_rpc_server_seconds`, and writes one line for each that
 * failed, with the ids of its trace.
 */
export function createObserver(metrics: Metrics, logger: Logger): (method: DescMethod) => CallObserver {
  const seconds = metrics.histogram({
    name: "drover_rpc_server_seconds",
    help: "Duration of the calls that this server answered; a stream counts from its start to its end.",
    labels: ["method", "code"],
  });
  return (method) => {
    const name = `${method.parent.typeName}/${method.name}`;
    const observers = new Map<string, (value: number) => void>();
    return (context, startedMs, error) => {
      const elapsedMs = performance.now() - startedMs;
      const code = error?.code ?? "OK";
      let observe = observers.get(code);
      if (observe === undefined) {
        observe = seconds.bind({ method: name, code });
        observers.set(code, observe);
      }
      observe(elapsedMs / 1000);
      if (error !== undefined) logFailure(logger, name, context, elapsedMs, error);
    };
  };
}

function logFailure(logger: Logger, method: string, context: RpcContext, elapsedMs: number, error: DroverError): void {
  const { caller, trace } = context;
  logger[levels[error.code]](
    {
      method,
      code: error.code,
      reason: error.reason,
      detail: error.message,
      duration_ms: Math.round(elapsedMs),
      ...(caller === undefined ? {} : { tenant: caller.tenant, subject: caller.subject, task_id: caller.taskId }),
      ...(trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId }),
      ...(error.code === "INTERNAL" ? { err: error.cause ?? error } : {}),
    },
    "rpc failed",
  );
}
