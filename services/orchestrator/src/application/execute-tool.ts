import { DroverError, withTimeout } from "@drover/kernel";
import { sound, type ToolResult, toolFailure } from "../domain/tool-result.ts";
import { type Patience, withPatience } from "./patience.ts";
import type { Tool, ToolContext } from "./tool-ports.ts";

/** How long a tool may take to stop after its time-out or a cancel. */
const stopGraceMs = 10_000;

/**
 * Runs one call of a tool. Never throws: whatever the tool does becomes a result, and what is no result at all too. A
 * service that is away is waited for where the tool bears to be called again under the same call id. A tool that
 * does not stop in time after its time-out or an abort is left behind, and its outcome is unknown.
 */
export async function executeTool(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  context: ToolContext,
  signal: AbortSignal,
  waiting: { readonly patience: Patience; readonly graceMs?: number },
): Promise<ToolResult> {
  const name = tool.spec.name;
  const graceMs = waiting.graceMs ?? stopGraceMs;
  try {
    return await withTimeout(`The tool ${name}`, tool.timeoutMs, signal, async (bounded) => {
      const left = leftBehind(name, bounded, graceMs);
      try {
        const result = withPatience(
          bearsRepeats(tool) ? waiting.patience : { ...waiting.patience, totalMs: 0 },
          bounded,
          () => tool.execute(args, context, bounded),
          (error) => context.span.event("retry", { text: error.message }),
        );
        return sound(name, await Promise.race([result, left.result]));
      } finally {
        left.forget();
      }
    });
  } catch (caught) {
    return failureOf(tool, caught, signal);
  }
}

/** Resolves some time after the signal has aborted. */
function leftBehind(name: string, signal: AbortSignal, graceMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const { promise, resolve } = Promise.withResolvers<ToolResult>();
  const onAbort = () => {
    timer = setTimeout(() => {
      resolve(toolFailure("OUTCOME_UNKNOWN", `The tool ${name} was told to stop and did not answer.`));
    }, graceMs);
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    result: promise,
    forget() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

function bearsRepeats({ replay }: Tool): boolean {
  return replay === "safe" || replay === "idempotent";
}

/** Codes after which a call may or may not have happened. */
const unsure: ReadonlySet<string> = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"]);

function failureOf(tool: Tool, caught: unknown, signal: AbortSignal): ToolResult {
  const error = DroverError.from(caught);
  if (!bearsRepeats(tool) && (signal.aborted || unsure.has(error.code))) {
    const summary = `The call of ${tool.spec.name} broke off, and whether it did its work is not known: ${error.message}`;
    return toolFailure("OUTCOME_UNKNOWN", summary);
  }
  if (signal.aborted) return toolFailure("CANCELLED", "The call was stopped because the task was.");
  const code = error.code === "DEADLINE_EXCEEDED" ? "TIMEOUT" : error.reason;
  const summary =
    error.code === "INTERNAL" ? "The tool failed for a reason of its own; other tools may still work." : error.message;
  return toolFailure(code, summary, "", error.retryable);
}
