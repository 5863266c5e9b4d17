/** How deep a JSON text may be written into a string of a JSON text. */
const mostWrappings = 2;

/**
 * The arguments of a call as the text of one JSON object, where what the model wrote is one with a slip of the kinds that
 * models make: a code fence around it, a comma before a closing bracket, single quotes, line breaks inside a string, the
 * whole as a string, a second object behind the first. Text that is an object already comes back as it is; undefined
 * where the slip is another one, the text is cut off, or it is no object. Linear in the length of the text.
 */
export function repairedArguments(text: string): string | undefined {
  let current = text;
  for (let wrapping = 0; wrapping <= mostWrappings; wrapping++) {
    const value = parsed(current);
    if (isObject(value)) return current;
    if (typeof value !== "string") break;
    current = value;
  }
  const rewritten = rewrite(withoutFence(current));
  return isObject(parsed(rewritten)) ? rewritten : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands in a fenced block that is the whole text. */
function withoutFence(text: string): string {
  const trimmed = text.trim();
  const firstLine = trimmed.indexOf("\n");
  if (!trimmed.startsWith("```") || !trimmed.endsWith("```") || firstLine < 0) return trimmed;
  return trimmed.slice(firstLine + 1, -3).trim();
}

/** One pass over the text; what is no JSON afterwards could not be repaired. */
function rewrite(text: string): string {
  const out: string[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    const piece = pieceAt(text, at);
    if (piece === undefined) return "";
    out.push(piece.json);
    at = piece.end;
    depth += piece.level;
    if (piece.level < 0 && depth <= 0) return isAnother(text.slice(at)) ? out.join("") : "";
  }
  return "";
}

interface Piece {
  /** What it is as JSON. */
  readonly json: string;
  /** Where the next one begins. */
  readonly end: number;
  /** 1 for a bracket that opens, -1 for one that closes. */
  readonly level: -1 | 0 | 1;
}

/** A string or another sign; undefined for a string without an end. */
function pieceAt(text: string, at: number): Piece | undefined {
  const sign = text.charAt(at);
  const end = at + 1;
  switch (sign) {
    case '"':
    case "'":
      return stringAt(text, at);
    case ",":
      return { json: /^\s*[}\]]/.test(text.slice(end, end + lookAhead)) ? "" : sign, end, level: 0 };
    case "{":
    case "[":
      return { json: sign, end, level: 1 };
    case "}":
    case "]":
      return { json: sign, end, level: -1 };
    default:
      return { json: sign, end, level: 0 };
  }
}

/** White space that may stand between a comma and a bracket. */
const lookAhead = 200;

/** What may follow the first object: nothing, or one more that is left out. */
function isAnother(rest: string): boolean {
  const next = rest.trimStart();
  return next === "" || (next.startsWith("{") && next.trimEnd().endsWith("}"));
}

const controls: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The string that begins at `start`. */
function stringAt(text: string, start: number): Piece | undefined {
  const quote = text.charAt(start);
  const out = ['"'];
  for (let at = start + 1; at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === quote) return { json: `${out.join("")}"`, end: at + 1, level: 0 };
    if (sign === "\\") out.push(escaped(text.charAt(++at)));
    else out.push(sign === '"' ? '\\"' : (controls[sign] ?? sign));
  }
  return undefined;
}

/** What stands behind a backslash, as JSON: a quote that needs none is bare, a line break is one that is escaped. */
function escaped(sign: string): string {
  return sign === "'" ? "'" : (controls[sign] ?? `\\${sign}`);
}
