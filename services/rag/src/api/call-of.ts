import type { HandlerContext } from "@connectrpc/connect";
import { callerOf, traceOf } from "@drover/rpc";
import type { Call } from "../application/call.ts";

/** The circumstances of an rpc; the tenant comes from the verified identity. */
export function callOf(context: HandlerContext): Call {
  const { tenant, taskId } = callerOf(context);
  return { tenant, signal: context.signal, trace: traceOf(context), taskId };
}
