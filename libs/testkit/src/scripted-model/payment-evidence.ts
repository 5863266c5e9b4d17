/** Reading of tool results for the payment script. Nothing here knows an answer: values are found or absent. */

/** The flat JSON object of a text that belongs to an order, as its fields; undefined when there is none. */
export function recordOf(text: string, orderId: string): ReadonlyMap<string, string> | undefined {
  for (const [object] of text.matchAll(/\{[^{}]*\}/g)) {
    const fields = new Map<string, string>();
    for (const [, name = "", quoted, bare] of object.matchAll(/"(\w+)"\s*:\s*(?:"([^"]*)"|([^\s,}[]+))/g)) {
      fields.set(name, quoted ?? bare ?? "");
    }
    if (fields.get("order_id") === orderId) return fields;
  }
  return undefined;
}

/** A line of the log about a payment. */
export interface LogLine {
  readonly time: string;
  readonly component: string;
  /** The `code=` of the line, or empty. */
  readonly code: string;
  readonly text: string;
}

/** The lines of a text that look like log lines and name the payment, each once, in order. */
export function logLines(text: string, paymentId: string): LogLine[] {
  const lines = new Map<string, LogLine>();
  for (const [line, time = "", component = ""] of text.matchAll(
    /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z)[ \t]+[A-Z]+[ \t]+(\w+)[ \t]+[^\n]*/g,
  )) {
    if (!line.includes(paymentId)) continue;
    lines.set(line.trimEnd(), {
      time,
      component,
      code: /\bcode=([A-Z_]+)/.exec(line)?.[1] ?? "",
      text: line.trimEnd(),
    });
  }
  return [...lines.values()];
}

/** The two lines that decide the case. */
export interface DecisiveLines {
  readonly timeout: LogLine | undefined;
  readonly dropped: LogLine | undefined;
}

/** The capture that timed out and the webhook that was dropped, where the log has them. */
export function decisiveLines(lines: readonly LogLine[]): DecisiveLines {
  return {
    timeout: lines.find((line) => line.component === "capture" && /time(?:d )?out/i.test(line.text)),
    dropped: lines.find((line) => line.component === "webhook" && /dropped/i.test(line.text)),
  };
}

/** Words for a document search, made of the codes of log lines: `CAPTURE_TIMEOUT` → `capture timeout`. */
export function queryOf(lines: readonly LogLine[]): string {
  return [...new Set(lines.flatMap((line) => line.code.toLowerCase().split("_")))]
    .filter((word) => word !== "")
    .join(" ");
}

/** A rule of a runbook: its sentence, and the heading it stands under where the result shows one. */
export interface FoundRule {
  readonly text: string;
  readonly heading: string | undefined;
}

/**
 * The rule in search results that speaks about both a capture that timed out and a dropped webhook.
 * Undefined when no result says so.
 */
export function ruleOf(text: string): FoundRule | undefined {
  for (const match of text.matchAll(/Rule [A-Z]+-\d+: [^\n"]+/g)) {
    const [rule] = match;
    if (!/captur/i.test(rule) || !/time[d]?[ -]?out/i.test(rule) || !/webhook was dropped|dropped/i.test(rule))
      continue;
    return {
      text: rule.trim(),
      heading: headingBefore(text.slice(0, match.index)) ?? headingAfter(text.slice(match.index)),
    };
  }
  return undefined;
}

const headingShapes: readonly RegExp[] = [
  /^#{1,6} +([^\n]+)$/gm,
  /"heading_?path"\s*:\s*\[(?:[^\]]*,)?\s*"([^"\]]+)"\s*\]/gi,
  /"?\b(?:heading|section)"?\s*[:=]\s*"?([^"\n,]+)/gi,
  /(?:›|»|→| > | \/ )\s*([^›»→>/\n]+?)\s*$/gm,
];

/** The last heading before a rule, in any of the shapes that results come in. */
function headingBefore(text: string): string | undefined {
  const found = headingShapes.flatMap((shape) => [...text.matchAll(shape)]);
  const [last] = found.toSorted((a, b) => b.index - a.index);
  return last?.[1]?.replace(/[\])(}]+.*$/, "").trim();
}

/** JSON results may carry the heading after the text. */
function headingAfter(text: string): string | undefined {
  const object = text.slice(0, text.indexOf("}") + 1);
  return /"heading_?path"\s*:\s*\[(?:[^\]]*,)?\s*"([^"\]]+)"\s*\]/i.exec(object)?.[1];
}

/** Where a spilled result is stored and how long it is; undefined for a result that is whole. */
export function spillOf(text: string): { readonly pointer: string; readonly characters: number } | undefined {
  const pointer = /\bspill:\/{2}[A-Za-z0-9_/-]+/.exec(text)?.[0];
  if (pointer === undefined) return undefined;
  const whole = /\bof ([\d,]+) characters/.exec(text)?.[1] ?? "0";
  return { pointer, characters: Number(whole.replaceAll(",", "")) };
}
