import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { ExecService, RunRequest, RunResponse } from "@drover/proto/sandbox/v1/exec_service";
import { callerOf } from "@drover/rpc";
import { type ForwardParts, passedOn, told, wasPassedOn } from "./pass-on.ts";

type Run = ServiceImpl<typeof ExecService>["run"];

/**
 * A handler that follows a run of another instance live, message by message as the caller takes them; ending the call ends the
 * following there. A new run is this instance's, and costs nothing more. Where the other instance does not answer, the run's end is
 * told when it is recorded.
 */
export function forwardRun(own: Run, parts: ForwardParts): Run {
  return async function* run(message, context) {
    let known = false;
    for await (const response of own(message, context)) {
      yield response;
      const { event } = response;
      if (known || event?.case !== "accepted") continue;
      known = true;
      if (event.value.existing !== true || wasPassedOn(context)) continue;
      const there = await runElsewhere(message, context, parts);
      if (there !== undefined) return yield* there;
    }
  };
}

/** What another instance says of the run after its acceptance; undefined where it is over, here, or nobody answers. */
async function runElsewhere(
  message: RunRequest,
  context: HandlerContext,
  { live, owners, peers }: ForwardParts,
): Promise<AsyncGenerator<RunResponse, void, undefined> | undefined> {
  const { tenant } = callerOf(context);
  if (live.get(tenant, message.callId) !== undefined) return undefined;
  const place = await owners.runsElsewhere(tenant, { callId: message.callId });
  if (place === undefined) return undefined;
  const responses = peers.at(place.address).run(message, passedOn(context))[Symbol.asyncIterator]();
  try {
    // The acceptance, which this instance has told already.
    await responses.next();
  } catch (error) {
    if (DroverError.from(error).code === "UNAVAILABLE") return undefined;
    throw error;
  }
  return rest(responses);
}

async function* rest(responses: AsyncIterator<RunResponse>): AsyncGenerator<RunResponse, void, undefined> {
  try {
    for (let next = await responses.next(); next.done !== true; next = await responses.next()) yield next.value;
  } catch (error) {
    throw told(error);
  } finally {
    await responses.return?.();
  }
}
