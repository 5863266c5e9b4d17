import { canonicalJson } from "./policy.ts";
import { callsOf, type Step, type TaskLog, type ToolCallRecord } from "./step.ts";
import { isOpenCall } from "./tool-call-state.ts";

/** So often in a row the same must have happened before it counts as a loop. */
const repeats = 3;
/** Longest pattern that is looked for: the same again and again, or two things in turn. */
const longestPeriod = 2;

/** Code of the nudge, and of the notice, that a loop gets first. */
export const loopCode = "LOOP_DETECTED";

/**
 * Whether the work goes round in circles, from the log alone: the newest turns asked for the same calls, with the same
 * arguments and the same results, three times in a row, or two such turns came in turn three times. `warn` the first
 * time; `end` where the model was told in the midst of it and goes on. Only of a log whose newest step are results.
 * A call whose result changes, and one of a tool in `polling`, is no sign of a loop.
 */
export function loopVerdict(log: TaskLog, polling: ReadonlySet<string>): "none" | "warn" | "end" {
  if (log.steps.at(-1)?.body.kind !== "results") return "none";
  const turns = newestTurns(log);
  const signs = new Map<number, string | undefined>();
  const signAt = (seq: number) => {
    if (!signs.has(seq)) signs.set(seq, signOf(callsOf(log, seq), polling));
    return signs.get(seq);
  };
  for (let period = 1; period <= longestPeriod; period++) {
    const newest = turns.slice(-repeats * period);
    const first = newest[0];
    if (newest.length < repeats * period || first === undefined) continue;
    // From the newest on: where there is no loop, a look at two or three turns says so.
    const same = newest.toReversed().every(({ seq }, index, all) => {
      const sign = signAt(seq);
      return sign !== undefined && sign === signAt(all[index % period]?.seq ?? seq);
    });
    if (!same) continue;
    const told = log.steps.some(({ seq, body }) => seq > first.seq && body.kind === "nudge" && body.code === loopCode);
    return told ? "end" : "warn";
  }
  return "none";
}

/** The newest turns that asked for calls, oldest first; as many as the longest pattern needs. */
function newestTurns({ steps }: TaskLog): readonly Step[] {
  const turns: Step[] = [];
  for (let at = steps.length - 1; at >= 0 && turns.length < repeats * longestPeriod; at--) {
    const step = steps[at];
    if (step?.body.kind === "turn" && step.body.decision === "tool_calls") turns.unshift(step);
  }
  return turns;
}

/** What the model is told. */
export const loopNudge =
  "You have made the same tool calls with the same arguments several times and the results did not change. Doing it again will not help: try something else, or give your answer with what you have.";

/** A turn's calls and results as one text; undefined for a turn that cannot be part of a loop. */
function signOf(calls: readonly ToolCallRecord[], polling: ReadonlySet<string>): string | undefined {
  const counted = calls.filter((call) => !polling.has(call.tool));
  if (counted.length === 0 || counted.some((call) => isOpenCall(call.state))) return undefined;
  return JSON.stringify(counted.map((call) => [call.tool, canonicalArguments(call.arguments), resultOf(call)]));
}

function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text;
  }
}

/** What the model was shown, without what differs between two calls that did the same. */
function resultOf({ shown, spillPointer, callId }: ToolCallRecord): string {
  const [first = "", ...rest] = shown.split("\n");
  // The line that says how it went tells the time it took.
  const text = [first.replace(/\b\d+\.\d+ s\b/g, "s"), ...rest].join("\n");
  return (spillPointer === "" ? text : text.replaceAll(spillPointer, "")).replaceAll(callId, "");
}
