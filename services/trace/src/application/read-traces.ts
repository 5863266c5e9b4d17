import { DroverError, decodePageToken, encodePageToken, invalidField, notFound, pageSize } from "@drover/kernel";
import { isSpanId, isTraceId } from "@drover/tracing";
import type { SpanPayload } from "../domain/span.ts";
import type { TraceKey } from "../domain/trace.ts";
import type { ListPosition, SpanRow, TraceReader, TraceRow } from "./ports.ts";
import { sizeOf } from "./span-size.ts";

/** One page of a tenant's traces, newest first. INVALID_ARGUMENT for a bad size or token. */
export async function listTraces(
  reader: TraceReader,
  tenant: string,
  query: { readonly pageSize: number; readonly pageToken: string; readonly taskId: string },
  signal: AbortSignal,
): Promise<{ readonly rows: readonly TraceRow[]; readonly nextPageToken: string }> {
  const size = pageSize(query.pageSize);
  const scope = `traces/${query.taskId}`;
  const after = positionIn(decodePageToken(scope, query.pageToken));
  const rows = await reader.list(tenant, { taskId: query.taskId, after, limit: size + 1 }, signal);
  const page = rows.slice(0, size);
  const last = page.at(-1);
  const more = rows.length > size && last !== undefined;
  return {
    rows: page,
    nextPageToken: more ? encodePageToken(scope, [last.trace.startNs.toString(), last.traceId]) : "",
  };
}

/**
 * A whole trace without payloads, by start. NOT_FOUND, and FAILED_PRECONDITION where it is larger than
 * `maxBytes`: WatchTrace from revision 0 gives the same in pieces.
 */
export async function getTrace(
  reader: TraceReader,
  key: TraceKey,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly row: TraceRow; readonly spans: readonly SpanRow[] }> {
  checkTraceId(key.traceId);
  const spans = new Map<string, SpanRow>();
  let bytes = 0;
  let position = { revision: 0, spanId: "" };
  for (;;) {
    const changes = await reader.changes(key, position, 1_000, signal);
    if (changes.row === undefined) throw notFound("trace", key.traceId);
    for (const row of changes.spans) {
      bytes += sizeOf(row);
      spans.set(row.span.spanId, row);
      position = { revision: row.revision, spanId: row.span.spanId };
    }
    if (bytes > maxBytes) throw tooLarge(changes.row, maxBytes);
    if (changes.last) return { row: changes.row, spans: [...spans.values()].sort(byStart) };
  }
}

/** One span with its payloads. NOT_FOUND. */
export async function getSpan(
  reader: TraceReader,
  key: TraceKey,
  spanId: string,
  signal: AbortSignal,
): Promise<SpanRow & { readonly payloads: readonly SpanPayload[] }> {
  checkTraceId(key.traceId);
  if (!isSpanId(spanId)) throw invalidField("span_id", shown(spanId), "16 hexadecimal digits in lower case");
  const found = await reader.span(key, spanId, signal);
  if (found === undefined) throw notFound("span", spanId);
  return found;
}

/** INVALID_ARGUMENT for anything but 32 hexadecimal digits. */
export function checkTraceId(traceId: string): void {
  if (!isTraceId(traceId)) throw invalidField("trace_id", shown(traceId), "32 hexadecimal digits in lower case");
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}

function positionIn(token: readonly string[] | undefined): ListPosition | undefined {
  if (token === undefined) return undefined;
  const [startNs = "", traceId = ""] = token;
  if (!/^\d{1,19}$/.test(startNs)) throw invalidField("page_token", shown(startNs), "a token of this list");
  return { startNs: BigInt(startNs), traceId };
}

function tooLarge(row: TraceRow, maxBytes: number): DroverError {
  return new DroverError(
    "FAILED_PRECONDITION",
    `The trace has ${row.trace.spanCount} spans, more than one answer of ${maxBytes} bytes holds; read it with WatchTrace from revision 0.`,
    { reason: "TRACE_TOO_LARGE", metadata: { spans: String(row.trace.spanCount) } },
  );
}

function byStart(a: SpanRow, b: SpanRow): number {
  if (a.span.startNs !== b.span.startNs) return a.span.startNs < b.span.startNs ? -1 : 1;
  return (a.span.started?.sequence ?? 0) - (b.span.started?.sequence ?? 0);
}
