import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { DroverError, isId } from "@drover/kernel";
import type { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { callerOf } from "@drover/rpc";
import { isTaskId } from "../application/shell-request.ts";
import type { Elsewhere } from "../domain/session-place.ts";
import { type ForwardParts, passOn } from "./pass-on.ts";

type Impl = ServiceImpl<typeof ExecService>;
type OfTask = Pick<Impl, "start" | "endSession">;
type OfExecution = Pick<Impl, "read" | "writeInput" | "signal" | "getExecution">;

/**
 * Handlers that answer here what concerns this instance and pass everything else on to the instance that it concerns, with
 * the caller's token, trace, deadline and cancel. A call that was passed on is never passed on again: UNAVAILABLE (reason
 * SESSION_MOVED). So is one whose owner does not answer (OWNER_UNREACHABLE).
 */
export function forwardSession(own: OfTask & OfExecution, parts: ForwardParts): OfTask & OfExecution {
  return { ...forwardOfTask(own, parts), ...forwardOfExecution(own, parts) };
}

function forwardOfTask(own: OfTask, parts: ForwardParts): OfTask {
  const { owners } = parts;
  return {
    async start(message, context) {
      if (!isTaskId(message.taskId)) return await own.start(message, context);
      const share = await owners.take(callerOf(context).tenant, message.taskId);
      if (share.kind === "there") {
        return await passOn(parts, share, context, (peer, options) => peer.start(message, options));
      }
      try {
        return await own.start(message, context);
      } finally {
        await share.leave();
      }
    },
    async endSession(message, context) {
      const { tenant } = callerOf(context);
      const there = isTaskId(message.taskId) ? await owners.elsewhere(tenant, message.taskId) : undefined;
      if (there === undefined) return await own.endSession(message, context);
      return await passOn(parts, there, context, (peer, options) => peer.endSession(message, options));
    },
  };
}

function forwardOfExecution(own: OfExecution, parts: ForwardParts): OfExecution {
  return {
    async read(message, context) {
      const there = await placeOf({ id: message.executionId }, context, parts);
      if (there === undefined) return await own.read(message, context);
      return await passOn(parts, there, context, (peer, options) => peer.read(message, options));
    },
    async writeInput(message, context) {
      const there = await placeOf({ id: message.executionId }, context, parts);
      if (there === undefined) return await own.writeInput(message, context);
      return await passOn(parts, there, context, (peer, options) => peer.writeInput(message, options));
    },
    async signal(message, context) {
      const there = await placeOf({ id: message.executionId }, context, parts);
      if (there === undefined) return await own.signal(message, context);
      return await passOn(parts, there, context, (peer, options) => peer.signal(message, options));
    },
    async getExecution(message, context) {
      const { key } = message;
      const there = await placeOf(
        key.case === "callId" ? { callId: key.value } : { id: key.value ?? "" },
        context,
        parts,
      );
      if (there === undefined) return await own.getExecution(message, context);
      try {
        return await passOn(parts, there, context, (peer, options) => peer.getExecution(message, options));
      } catch (error) {
        // The record is here as well; only how far the run is may be told a moment late.
        if (DroverError.from(error).code !== "UNAVAILABLE") throw error;
        return await own.getExecution(message, context);
      }
    },
  };
}

async function placeOf(
  key: { readonly id: string } | { readonly callId: string },
  context: HandlerContext,
  { owners, live }: ForwardParts,
): Promise<Elsewhere | undefined> {
  const { tenant } = callerOf(context);
  const [id, here] = "id" in key ? [key.id, live.byId(tenant, key.id)] : [key.callId, live.get(tenant, key.callId)];
  return here === undefined && isId(id) ? await owners.runsElsewhere(tenant, key) : undefined;
}
