import { headOf, withTimeout } from "@drover/kernel";
import { redact } from "@drover/redaction";
import type { ToolCallRecord } from "../domain/step.ts";
import type { ToolResult } from "../domain/tool-result.ts";
import { parkUnknown, unknownOutcome } from "./gate-calls.ts";
import { type RuleParts, readRules } from "./read-rules.ts";
import { argumentsPreview } from "./record-turn.ts";
import type { TaskSession } from "./task-session.ts";
import type { Tool, ToolContext } from "./tool-ports.ts";

/** Longest wait for the answer of a probe, ms. */
const probeMs = 30_000;

/** A call that was sent by an earlier worker and has no result. */
export interface LostCall {
  readonly record: ToolCallRecord;
  readonly tool: Tool;
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: ToolContext;
}

/**
 * What is known of calls that were sent and have no result, by how their tools may be replayed: results of those that
 * are over or whose outcome nobody knows; a call without one is to be sent again under its own id. Undefined: somebody
 * must say so first, and the task waits for that. Nothing is ever sent twice here without the tool's or a person's word.
 */
export async function settleLost(
  parts: RuleParts,
  session: TaskSession,
  lost: readonly LostCall[],
): Promise<ReadonlyMap<string, ToolResult> | undefined> {
  const results = new Map<string, ToolResult>();
  const unsure: LostCall[] = [];
  for (const call of lost) {
    const found = await foundOut(call, session.control.signal);
    if (found === "unknown") unsure.push(call);
    else if (found !== "send") results.set(call.record.callId, found);
  }
  session.control.signal.throwIfAborted();
  if (unsure.length === 0) return results;
  const { task } = session;
  const judge = await readRules(parts, session);
  const shown = unsure.map(({ record, args }) => {
    return { record, args, preview: headOf(redact(record.arguments).text, argumentsPreview) };
  });
  const { change, unknown } = parkUnknown(parts, { agent: task.agent, judge }, shown);
  if (change !== undefined) {
    await session.commit(change);
    return undefined;
  }
  for (const { callId, tool } of unknown) results.set(callId, unknownOutcome(tool));
  return results;
}

async function foundOut(
  { tool, args, context }: LostCall,
  signal: AbortSignal,
): Promise<ToolResult | "send" | "unknown"> {
  if (tool.replay === "safe" || tool.replay === "idempotent") return "send";
  const { probe } = tool;
  if (tool.replay === "never" || probe === undefined) return "unknown";
  try {
    const found = await withTimeout("A probe", probeMs, signal, (bounded) => probe(args, context, bounded));
    return found === "not_run" ? "send" : found;
  } catch {
    return "unknown";
  }
}
