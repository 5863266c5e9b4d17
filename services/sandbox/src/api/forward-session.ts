import type { CallOptions, Client, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { DroverError, isId } from "@drover/kernel";
import type { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { callerOf } from "@drover/rpc";
import type { LiveRuns } from "../application/live-runs.ts";
import { type SessionOwners, sessionMoved } from "../application/session-owner.ts";
import { isTaskId } from "../application/shell-request.ts";
import type { Elsewhere } from "../domain/session-place.ts";

/** The methods that concern what runs in one instance. */
type Handlers = Pick<
  ServiceImpl<typeof ExecService>,
  "start" | "read" | "writeInput" | "signal" | "endSession" | "getExecution"
>;

/** What forwarding works with. */
export interface ForwardParts {
  readonly owners: Pick<SessionOwners, "take" | "elsewhere" | "runsElsewhere">;
  /** The other instances by their address. */
  readonly peers: { at(address: string): Client<typeof ExecService> };
  readonly live: Pick<LiveRuns, "byId" | "get">;
}

type Peer = Client<typeof ExecService>;

const forwardedHeader = "x-drover-forwarded";
const passedOn = ["x-drover-identity", "traceparent"];
/** An owner that does not answer is dead when its lease is over, or will answer again. */
const retryAfterMs = 1000;

/**
 * Handlers that answer here what concerns this instance and pass everything else on to the instance that it concerns, with
 * the caller's token, trace, deadline and cancel. A call that was passed on is never passed on again: UNAVAILABLE (reason
 * SESSION_MOVED). So is one whose owner does not answer (OWNER_UNREACHABLE).
 */
export function forwardSession(own: Handlers, { owners, peers, live }: ForwardParts): Handlers {
  const passOn = async <T>(
    { address }: Elsewhere,
    context: HandlerContext,
    call: (peer: Peer, options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    if (context.requestHeader.has(forwardedHeader)) throw sessionMoved();
    try {
      return await call(peers.at(address), optionsOf(context));
    } catch (error) {
      throw told(error);
    }
  };
  const runsElsewhere = async (key: { id: string } | { callId: string }, context: HandlerContext) => {
    const { tenant } = callerOf(context);
    const here = "id" in key ? live.byId(tenant, key.id) : live.get(tenant, key.callId);
    return here === undefined && isId("id" in key ? key.id : key.callId)
      ? await owners.runsElsewhere(tenant, key)
      : undefined;
  };
  return {
    async start(message, context) {
      if (!isTaskId(message.taskId)) return await own.start(message, context);
      const share = await owners.take(callerOf(context).tenant, message.taskId);
      if (share.kind === "there") return await passOn(share, context, (peer, options) => peer.start(message, options));
      try {
        return await own.start(message, context);
      } finally {
        await share.leave();
      }
    },
    async read(message, context) {
      const there = await runsElsewhere({ id: message.executionId }, context);
      if (there === undefined) return await own.read(message, context);
      return await passOn(there, context, (peer, options) => peer.read(message, options));
    },
    async writeInput(message, context) {
      const there = await runsElsewhere({ id: message.executionId }, context);
      if (there === undefined) return await own.writeInput(message, context);
      return await passOn(there, context, (peer, options) => peer.writeInput(message, options));
    },
    async signal(message, context) {
      const there = await runsElsewhere({ id: message.executionId }, context);
      if (there === undefined) return await own.signal(message, context);
      return await passOn(there, context, (peer, options) => peer.signal(message, options));
    },
    async endSession(message, context) {
      const { tenant } = callerOf(context);
      const there = isTaskId(message.taskId) ? await owners.elsewhere(tenant, message.taskId) : undefined;
      if (there === undefined) return await own.endSession(message, context);
      return await passOn(there, context, (peer, options) => peer.endSession(message, options));
    },
    async getExecution(message, context) {
      const { key } = message;
      const wanted = key.case === "callId" ? { callId: key.value } : { id: key.value ?? "" };
      const there = await runsElsewhere(wanted, context);
      if (there === undefined) return await own.getExecution(message, context);
      return await passOn(there, context, (peer, options) => peer.getExecution(message, options)).catch(
        async (error: unknown) => {
          // The record is here as well; only how far the run is may be told a moment late.
          if (DroverError.from(error).code !== "UNAVAILABLE") throw error;
          return await own.getExecution(message, context);
        },
      );
    },
  };
}

function optionsOf(context: HandlerContext): CallOptions {
  const headers = new Headers({ [forwardedHeader]: "1" });
  for (const name of passedOn) {
    const value = context.requestHeader.get(name);
    if (value !== null) headers.set(name, value);
  }
  const timeoutMs = context.timeoutMs();
  return { headers, signal: context.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

function told(error: unknown): DroverError {
  const known = DroverError.from(error);
  if (known.reason !== "PEER_UNREACHABLE") return known;
  const message = "The instance that has the task's session does not answer; try again.";
  return new DroverError("UNAVAILABLE", message, { reason: "OWNER_UNREACHABLE", retryAfterMs, cause: error });
}
