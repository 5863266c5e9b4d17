import { redact } from "@drover/redaction";

/** A field of one of these names never shows its text, whatever it looks like. */
const secretName = /authorization|api[_-]?key|secret|passw|private[_-]?key|cookie|identity|credential|^token$|_token$/i;

/** Bounds of one log line, so that no value can make logging expensive. */
const bounds = { depth: 6, entries: 100, text: 8192 } as const;

/**
 * A copy of a log value that is safe to write: secrets masked, errors as plain objects with their
 * causes, long text and deep structures cut. Never throws.
 */
export function redacted<T>(value: T): T;
export function redacted(value: unknown): unknown {
  return copy(value, 0, new Set());
}

function copy(value: unknown, depth: number, above: Set<object>): unknown {
  if (typeof value === "string") return safeText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (depth >= bounds.depth || above.has(value)) return "[cut]";
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  above.add(value);
  const copied = copyObject(value, depth + 1, above);
  above.delete(value);
  return copied;
}

function copyObject(value: object, depth: number, above: Set<object>): unknown {
  if (Array.isArray(value)) return value.slice(0, bounds.entries).map((item) => copy(item, depth, above));
  const source = value instanceof Error ? errorFields(value) : value;
  const fields: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(source).slice(0, bounds.entries)) {
    fields[name] = secretName.test(name) && typeof item === "string" ? "[redacted]" : copy(item, depth, above);
  }
  return fields;
}

function errorFields(error: Error): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  return { ...error, type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
}

function safeText(text: string): string {
  const cut = text.length > bounds.text ? `${text.slice(0, bounds.text)}… (${text.length} characters)` : text;
  return redact(cut).text;
}
