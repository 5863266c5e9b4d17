import type { HandlerContext } from "@connectrpc/connect";
import { callerOf, traceOf } from "@drover/rpc";
import type { Call } from "../application/call.ts";

/** The circumstances of an rpc. */
export function callOf(context: HandlerContext): Call {
  const { tenant, subject, taskId } = callerOf(context);
  return { owner: { tenant, subject }, signal: context.signal, trace: traceOf(context), taskId };
}
