import type { TaskLog } from "./step.ts";
import type { VerificationFinding, VerificationReport } from "./task.ts";
import { hasToolCallMarkup, withoutCode } from "./tool-call-markup.ts";
import { isOpenCall } from "./tool-call-state.ts";

/** Findings of one kind that are told. */
const toldFindings = 10;

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const namedCall = new RegExp(`\\bcall(?:[ _]id)?\\W{1,3}(${uuid})`, "gi");
const pointer = /spill:\/\/[\w./-]{1,200}/g;
const workspacePath = /\/workspace\/[^\s"'`<>()[\]{}|,;:*?]{1,300}/g;
const citation = /(?<![\w\])"'])\[(\d{1,3})\](?![([\w])/g;
const passage = /^\[(\d{1,3})\] /gm;
const searchTool = "search_documents";

/**
 * The rules that every answer must hold: it is there, it was not cut, no tool call is written into it, and every
 * citation, pointer, path and call that it names occurs in this task. Findings are in the order of these rules.
 */
export function verifyAnswer(
  answer: string,
  finishReason: string,
  record: { readonly prompt: string; readonly log: TaskLog; readonly tools: readonly string[] },
): readonly VerificationFinding[] {
  const { log } = record;
  if (answer.trim() === "") return [blocking("EMPTY_ANSWER", "The answer is empty.")];
  const tools = new Set([...record.tools, ...log.calls.map((call) => call.tool)]);
  return [
    ...(finishReason === "length" || finishReason === "max_tokens"
      ? [blocking("CUT_ANSWER", "The answer was cut at the output limit.")]
      : []),
    ...(hasToolCallMarkup(answer, tools)
      ? [blocking("TOOL_CALL_IN_TEXT", "The answer has a tool call written into its text; it was not made.")]
      : []),
    ...(log.calls.some((call) => isOpenCall(call.state))
      ? [blocking("OPEN_CALL", "A tool call of this task has no result yet.")]
      : []),
    ...referenceFindings(answer, record),
  ];
}

/** True where an answer cites a passage of the task's searches, by its number or its document's name. */
export function hasCitation(answer: string, log: TaskLog): boolean {
  const found = searches(log);
  return (
    cited(answer).some((n) => n <= mostPassages(found)) || documentNames(found).some((name) => answer.includes(name))
  );
}

/** True where a search of the task found something to cite. */
export function hasPassages(log: TaskLog): boolean {
  return mostPassages(searches(log)) > 0;
}

/** What the model is told of a report that did not pass. */
export function findingsRequest({ findings }: VerificationReport): string {
  const list = findings.filter((finding) => finding.blocking).map(({ code, text }) => `- ${code}: ${text}`);
  return `Your answer was checked and cannot be taken as it is:\n${list.join("\n")}\nCorrect it. You may call tools. Then give the whole final answer again.`;
}

function referenceFindings(
  answer: string,
  { prompt, log }: { readonly prompt: string; readonly log: TaskLog },
): VerificationFinding[] {
  const texts = [prompt, ...log.calls.flatMap((call) => [call.arguments, call.shown])];
  const occurs = (text: string) => texts.some((known) => known.includes(text));
  const calls = new Set(log.calls.map((call) => call.callId));
  const pointers = new Set(log.calls.map((call) => call.spillPointer));
  // A listing that was shown in part may well have named a path.
  const partly = log.calls.some((call) => call.spillPointer !== "");
  const unknown = (name: string, matches: readonly string[], known: (text: string) => boolean, isBlocking = true) =>
    [...new Set(matches)]
      .filter((text) => !known(text))
      .slice(0, toldFindings)
      .map((text) => ({ code: `UNKNOWN_${name}`, text: `${text} does not occur in this task.`, blocking: isBlocking }));
  const numbers = cited(answer);
  const searched = searches(log);
  const passages = mostPassages(searched);
  return [
    ...unknown(
      "CITATION",
      searched.length === 0 ? [] : numbers.map((n) => `[${n}]`),
      (text) => Number(text.slice(1, -1)) <= passages,
    ),
    ...unknown("POINTER", matchesOf(answer, pointer), (text) => pointers.has(text) || occurs(text)),
    ...unknown("PATH", matchesOf(answer, workspacePath), (text) => occurs(text.slice("/workspace/".length)), !partly),
    ...unknown(
      "CALL",
      [...answer.matchAll(namedCall)].map((match) => match[1]?.toLowerCase() ?? ""),
      (id) => calls.has(id),
    ),
  ];
}

/** What a pattern finds, without the full stop or slash that ends a sentence or a folder. */
function matchesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([match]) => match.replace(/[./]+$/, ""));
}

function cited(answer: string): number[] {
  return [...withoutCode(answer).matchAll(citation)].map((match) => Number(match[1])).filter((n) => n > 0);
}

function searches(log: TaskLog): string[] {
  return log.calls.filter((call) => call.tool === searchTool && call.state === "SUCCEEDED").map((call) => call.shown);
}

function mostPassages(shown: readonly string[]): number {
  return Math.max(0, ...shown.flatMap((text) => [...text.matchAll(passage)].map((match) => Number(match[1]))));
}

function documentNames(shown: readonly string[]): string[] {
  const heads = shown.flatMap((text) => [...text.matchAll(/^\[\d{1,3}\] (.{1,300}?)(?: > | \(characters )/gm)]);
  return heads.flatMap((match) => (match[1] === undefined ? [] : [match[1]]));
}

function blocking(code: string, text: string): VerificationFinding {
  return { code, text, blocking: true };
}
