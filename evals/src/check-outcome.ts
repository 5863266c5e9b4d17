import type { CallCheck, Evaluation, FileCheck, TextCheck } from "./evaluation.ts";

/** What became of an evaluation's task, seen from outside. */
export interface Outcome {
  readonly state: string;
  readonly failureReason: string;
  readonly failureMessage: string;
  readonly answer: string;
  readonly rounds: number;
  readonly tokens: number;
  readonly toolCalls: number;
  readonly reworks: number;
  readonly calls: readonly { readonly tool: string; readonly arguments: string; readonly state: string }[];
  /** Of the files that the evaluation asks for; undefined where there is none. */
  readonly files: Readonly<Record<string, string | undefined>>;
  readonly findings: readonly string[];
  readonly notices: readonly string[];
}

/** Everything that is not as the evaluation expects, one line each; nothing where it passed. */
export function checkOutcome({ expect }: Evaluation, outcome: Outcome): readonly string[] {
  const most = expect.most ?? {};
  return [
    ...differs("state", expect.state, `${outcome.state}`, ` (${outcome.failureReason} ${outcome.failureMessage})`),
    ...(expect.failure_reason === undefined
      ? []
      : differs("failure reason", expect.failure_reason, outcome.failureReason)),
    ...textFaults("the answer", outcome.answer, expect.answer ?? {}),
    ...(expect.made ?? []).filter((call) => !wasMade(outcome, call)).map((call) => `not made: ${callWords(call)}`),
    ...(expect.forbidden ?? []).filter((call) => wasMade(outcome, call)).map((call) => `made: ${callWords(call)}`),
    ...Object.entries(expect.files ?? {}).flatMap(([path, check]) => fileFaults(path, outcome.files[path], check)),
    ...missing("finding", expect.findings ?? [], outcome.findings),
    ...missing("notice", expect.notices ?? [], outcome.notices),
    ...(expect.reworks === undefined ? [] : differs("reworks", String(expect.reworks), String(outcome.reworks))),
    ...over("rounds", outcome.rounds, most.rounds),
    ...over("tool calls", outcome.toolCalls, most.tool_calls),
    ...over("tokens", outcome.tokens, most.tokens),
  ];
}

function wasMade({ calls }: Outcome, check: CallCheck): boolean {
  return calls.some(
    (call) =>
      call.tool === check.tool &&
      (check.arguments === undefined || call.arguments.includes(check.arguments)) &&
      (check.state === undefined || call.state === check.state),
  );
}

function callWords({ tool, arguments: args, state }: CallCheck): string {
  return [tool, args === undefined ? "" : `with ${JSON.stringify(args)}`, state ?? ""]
    .filter((part) => part !== "")
    .join(" ");
}

function fileFaults(path: string, content: string | undefined, check: FileCheck): string[] {
  if (check.absent) return content === undefined ? [] : [`${path} is there`];
  if (content === undefined) return [`${path} is not there`];
  const equal = check.equals === undefined || check.equals === content;
  return [
    ...(equal ? [] : [`${path} is ${JSON.stringify(content.slice(0, 200))}`]),
    ...textFaults(path, content, check),
  ];
}

function textFaults(what: string, text: string, { contains = [], excludes = [] }: TextCheck): string[] {
  const shown = JSON.stringify(text.slice(0, 300));
  return [
    ...contains.filter((part) => !text.includes(part)).map((part) => `${what} lacks ${JSON.stringify(part)}: ${shown}`),
    ...excludes.filter((part) => text.includes(part)).map((part) => `${what} has ${JSON.stringify(part)}`),
  ];
}

function missing(what: string, wanted: readonly string[], found: readonly string[]): string[] {
  return wanted
    .filter((code) => !found.includes(code))
    .map((code) => `no ${what} ${code}; found ${found.join(", ") || "none"}`);
}

function differs(what: string, wanted: string, found: string, more = ""): string[] {
  return wanted === found ? [] : [`${what} is ${found || "empty"}, expected ${wanted}${more}`];
}

function over(what: string, found: number, most: number | undefined): string[] {
  return most === undefined || found <= most ? [] : [`${found} ${what}, allowed are ${most}`];
}
