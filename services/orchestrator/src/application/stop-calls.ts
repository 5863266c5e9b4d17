import { DroverError, throwIfAborted } from "@drover/kernel";
import { attr } from "@drover/tracing";
import { callsOf, type ToolCallRecord } from "../domain/step.ts";
import { toolFailure } from "../domain/tool-result.ts";
import { recordableResult } from "./recordable-result.ts";
import type { CallParts } from "./run-calls.ts";
import type { TaskSession } from "./task-session.ts";
import type { Tool, ToolContext } from "./tool-ports.ts";

/** How long the end of a call that somebody else sent is waited for, ms. */
const stopProofMs = 15_000;

/**
 * Ends the calls that an earlier worker sent and whose results nobody has, before a task is called cancelled: that
 * worker may only be stopped, or its service may not have heard of the cancel. What they did until then is kept. A
 * call whose end cannot be proven stays without a result here.
 */
export async function stopCalls(parts: CallParts, session: TaskSession): Promise<void> {
  const turn = session.log.steps.at(-1)?.seq ?? 0;
  const sent = callsOf(session.log, turn).filter(
    ({ callId, state }) => state === "DISPATCHED" && !session.unrecorded.has(callId),
  );
  await Promise.all(sent.map((call) => stopCall(parts, session, call)));
}

async function stopCall(parts: CallParts, session: TaskSession, call: ToolCallRecord): Promise<void> {
  const resolved = parts.tools.resolve(call.tool, call.arguments);
  if (!("tool" in resolved) || resolved.tool.stop === undefined) return;
  const { task, root } = session;
  const begun = parts.clock.monotonicMs();
  const span = parts.tracer.start({
    tenant: task.tenant,
    name: `stop ${call.tool}`,
    kind: "tool",
    parent: root.context,
    taskId: task.id,
    attributes: { [attr.toolName]: call.tool, [attr.toolCallId]: call.callId },
  });
  const context: ToolContext = {
    ...session.scope(span),
    callId: call.callId,
    conversationId: task.conversationId,
    collection: task.collection,
    allowedCommands: call.allowedCommands,
    workspace: async (signal) => {
      throwIfAborted(signal);
      throw new DroverError("FAILED_PRECONDITION", "A call that is stopped needs no workspace.");
    },
    span,
  };
  try {
    const result = await stopped(resolved.tool, context);
    const durationMs = Math.round(parts.clock.monotonicMs() - begun);
    session.unrecorded.set(
      call.callId,
      await recordableResult(parts, session, { callId: call.callId, span, durationMs }, result),
    );
  } catch (error) {
    span.end({ error: DroverError.from(error).message });
  }
}

async function stopped(tool: Tool, context: ToolContext) {
  const result = await tool.stop?.(context, AbortSignal.timeout(stopProofMs));
  return result ?? toolFailure("CANCELLED", "The task was cancelled before this call began; it did nothing.");
}
