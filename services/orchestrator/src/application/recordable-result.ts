import { type Clock, DroverError, headOf } from "@drover/kernel";
import { redact } from "@drover/redaction";
import { attr, type Span } from "@drover/tracing";
import { needsSpill, outcomeOf, resultText, type ToolResult, type ViewLimits, viewOf } from "../domain/tool-result.ts";
import { withPatience } from "./patience.ts";
import type { CallResult, ConversationMemory } from "./ports.ts";
import type { TaskSession } from "./task-session.ts";

/** Characters of a summary; it is one line for people. */
const summaryCharacters = 300;

/** How long a long result may take to be stored once its task is cancelled. */
const lastStoreMs = 5_000;

interface Call {
  readonly callId: string;
  readonly span: Span;
  readonly durationMs: number;
}

/**
 * Makes of a tool's result what may be recorded and shown: secrets masked before anything else sees
 * the text, a long text stored whole, the model's view of it cut. Ends the call's span. Never throws.
 */
export async function recordableResult(
  parts: {
    readonly memory: ConversationMemory;
    readonly clock: Clock;
    readonly view: ViewLimits;
    readonly patienceMs: number;
  },
  session: TaskSession,
  { callId, span, durationMs }: Call,
  result: ToolResult,
): Promise<CallResult> {
  const masked = redact(resultText(result));
  if (masked.count > 0) {
    span.event("redacted", {
      attributes: { [attr.redactedCount]: masked.count, [attr.redactedKinds]: masked.kinds.join(",") },
    });
  }
  const pointer = needsSpill(masked.text, parts.view) ? await spill(parts, session, callId, span, masked.text) : "";
  const view = viewOf(masked.text, pointer, parts.view);
  const summary = headOf(redact(result.summary).text.replaceAll(/\s+/g, " ").trim(), summaryCharacters);
  span.event("tool_output", { text: view.shown });
  span.payload("output", view.shown);
  span.end({
    error: result.ok ? undefined : `${result.errorCode}: ${summary}`,
    attributes: {
      [attr.toolSummary]: summary,
      [attr.resultCharacters]: masked.text.length,
      [attr.shownCharacters]: view.shownCharacters,
      [attr.spillPointer]: pointer === "" ? undefined : pointer,
      [attr.errorCode]: result.ok ? undefined : result.errorCode,
    },
  });
  return {
    callId,
    state: outcomeOf(result),
    shown: view.shown,
    summary,
    errorCode: result.errorCode,
    retryable: result.retryable,
    artifacts: result.artifacts,
    resultCharacters: masked.text.length,
    shownCharacters: view.shownCharacters,
    spillPointer: pointer,
    durationMs,
  };
}

async function spill(
  parts: { readonly memory: ConversationMemory; readonly clock: Clock; readonly patienceMs: number },
  session: TaskSession,
  callId: string,
  span: Span,
  text: string,
): Promise<string> {
  const { control, task } = session;
  const store = (signal: AbortSignal) =>
    withPatience({ totalMs: parts.patienceMs, clock: parts.clock }, signal, () =>
      parts.memory.spill(session.scope(span), { conversationId: task.conversationId, callId, text }, signal),
    );
  try {
    const pointer = await store(control.signal).catch((error: unknown) => {
      // What was found before a cancel is kept like everything else.
      if (control.stopped !== "TASK_CANCELLED") throw error;
      return store(AbortSignal.timeout(lastStoreMs));
    });
    span.event("spilled", { attributes: { [attr.spillPointer]: pointer, [attr.resultCharacters]: text.length } });
    return pointer;
  } catch (error) {
    span.event("error", { text: `The result could not be stored: ${DroverError.from(error).message}` });
    return "";
  }
}
