import type { CallOptions, Client, HandlerContext } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import type { LiveRuns } from "../application/live-runs.ts";
import { type SessionOwners, sessionMoved } from "../application/session-owner.ts";
import type { Elsewhere } from "../domain/session-place.ts";

/** What forwarding works with. */
export interface ForwardParts {
  readonly owners: Pick<SessionOwners, "take" | "elsewhere" | "runsElsewhere">;
  /** The other instances by their address. */
  readonly peers: { at(address: string): Client<typeof ExecService> };
  readonly live: Pick<LiveRuns, "byId" | "get">;
}

const forwardedHeader = "x-drover-forwarded";
const kept = ["x-drover-identity", "traceparent"];
/** An owner that does not answer is dead when its lease is over, or will answer again. */
const retryAfterMs = 1000;

/** Whether another instance passed the call on to this one. */
export function wasPassedOn(context: HandlerContext): boolean {
  return context.requestHeader.has(forwardedHeader);
}

/** The caller's token, trace, deadline and cancel, for the call to the instance that it concerns. */
export function passedOn(context: HandlerContext): CallOptions {
  const headers = new Headers({ [forwardedHeader]: "1" });
  for (const name of kept) {
    const value = context.requestHeader.get(name);
    if (value !== null) headers.set(name, value);
  }
  const timeoutMs = context.timeoutMs();
  return { headers, signal: context.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** What the other instance answered with; where nobody answered UNAVAILABLE (reason OWNER_UNREACHABLE) with a time to wait. */
export function told(error: unknown): DroverError {
  const known = DroverError.from(error);
  if (known.reason !== "PEER_UNREACHABLE") return known;
  const message = "The instance that has the task's session does not answer; try again.";
  return new DroverError("UNAVAILABLE", message, { reason: "OWNER_UNREACHABLE", retryAfterMs, cause: error });
}

/** Makes a unary call at the instance that it concerns. UNAVAILABLE (reason SESSION_MOVED) where it was passed on before. */
export async function passOn<T>(
  { peers }: Pick<ForwardParts, "peers">,
  { address }: Elsewhere,
  context: HandlerContext,
  call: (peer: Client<typeof ExecService>, options: CallOptions) => Promise<T>,
): Promise<T> {
  if (wasPassedOn(context)) throw sessionMoved();
  try {
    return await call(peers.at(address), passedOn(context));
  } catch (error) {
    throw told(error);
  }
}
