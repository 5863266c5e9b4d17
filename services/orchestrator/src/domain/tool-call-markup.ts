/** Forms in which models write a tool call into their text instead of making it. Each is found in linear time. */
const forms: readonly RegExp[] = [
  /<\/?(?:[a-z]{1,20}:)?(?:tool_calls?|function_calls?|tool_use)>/i,
  /<(?:[a-z]{1,20}:)?(?:invoke|function_call|tool_call) name=/i,
  /<function=[\w.-]{1,64}>/i,
  /<\|(?:tool_calls?(?:_begin|_start|_section_begin)?|python_tag|channel)\|>/i,
  /<｜tool[▁_ ]calls?[▁_ ]begin｜>/,
  /\[TOOL_CALLS\]/,
  /\bto=functions\.[\w-]{1,64}/,
];

/** Lines that open or close a fenced block: at least three of one sign. */
const fence = /^ {0,3}(`{3,}|~{3,})/;

/** True for an answer in which a tool call is written out, other than in a code block or code span. */
export function hasToolCallMarkup(answer: string, toolNames: ReadonlySet<string>): boolean {
  const prose = withoutCode(answer);
  return forms.some((form) => form.test(prose)) || isCallObject(answer, toolNames);
}

/** A text without its fenced blocks and code spans. */
export function withoutCode(text: string): string {
  let open: string | undefined;
  const kept: string[] = [];
  for (const line of text.split("\n")) {
    const mark = fence.exec(line)?.[1];
    if (open === undefined && mark !== undefined) open = mark;
    else if (open !== undefined && mark?.startsWith(open) && line.trim() === mark) open = undefined;
    else if (open === undefined) kept.push(line);
  }
  return withoutSpans(kept.join("\n"));
}

/** A code span ends with as many backticks as it began with; a run without its partner is text. */
function withoutSpans(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map((match) => ({ at: match.index, length: match[0].length }));
  const partners = partnersOf(runs);
  let kept = "";
  let from = 0;
  for (const [index, run] of runs.entries()) {
    const end = partners[index];
    if (run.at < from || end === undefined) continue;
    kept += text.slice(from, run.at);
    from = end.at + end.length;
  }
  return kept + text.slice(from);
}

interface Run {
  readonly at: number;
  readonly length: number;
}

/** For each run the next one of the same length. */
function partnersOf(runs: readonly Run[]): readonly (Run | undefined)[] {
  const next = new Map<number, Run>();
  const partners: (Run | undefined)[] = [];
  for (const run of runs.toReversed()) {
    partners.push(next.get(run.length));
    next.set(run.length, run);
  }
  return partners.reverse();
}

/** An answer that is nothing but the JSON of a call of a known tool. */
function isCallObject(answer: string, toolNames: ReadonlySet<string>): boolean {
  const text = answer.trim();
  if (!text.startsWith("{") || text.length > 100_000) return false;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("name" in value)) return false;
    return toolNames.has(String(value.name)) && ("arguments" in value || "parameters" in value || "input" in value);
  } catch {
    return false;
  }
}
