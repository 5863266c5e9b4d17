import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PayloadSchema, SpanSchema, TraceSummarySchema } from "@drover/proto/trace/v1/trace";
import type { SpanRow, TraceRow } from "../application/ports.ts";
import { attributesOf, endOf, errorOf, type SpanPayload, stateOf } from "../domain/span.ts";
import { droppedRecords, isRunning, traceEnd } from "../domain/trace.ts";

/** A row of the list of traces. */
export function summaryOf({ traceId, trace }: TraceRow): MessageInitShape<typeof TraceSummarySchema> {
  const { usage, head } = trace;
  return {
    traceId,
    name: head?.name ?? "",
    taskId: head?.taskId ?? "",
    startNs: trace.startNs,
    endNs: traceEnd(trace),
    spanCount: trace.spanCount,
    errorCount: trace.errorCount,
    usage: {
      inputTokens: BigInt(usage.inputTokens),
      outputTokens: BigInt(usage.outputTokens),
      cachedInputTokens: BigInt(usage.cachedInputTokens),
      reasoningTokens: BigInt(usage.reasoningTokens),
      ...(usage.priced > 0 ? { costNanoUsd: BigInt(usage.costNanoUsd) } : {}),
    },
    running: isRunning(trace),
    revision: BigInt(trace.revision),
    droppedRecords: BigInt(droppedRecords(trace)),
    rootKind: head?.kind ?? "",
    taskState: head?.taskState ?? "",
  };
}

/** A span without its payloads. */
export function spanOf({ span, events, revision }: SpanRow): MessageInitShape<typeof SpanSchema> {
  return {
    spanId: span.spanId,
    parentSpanId: span.started?.parentSpanId ?? "",
    name: span.started?.name ?? "",
    kind: span.started?.kind ?? "",
    service: span.started?.service ?? "",
    // The numbers of SpanState are those of the domain.
    state: stateOf(span),
    startNs: span.startNs,
    endNs: endOf(span) ?? 0n,
    error: errorOf(span),
    attributes: { ...attributesOf(span) },
    events: events.map((event) => ({
      ordinal: BigInt(event.ordinal),
      timeNs: event.timeNs,
      kind: event.kind,
      text: event.text,
      attributes: { ...event.attributes },
    })),
    sequence: BigInt(span.started?.sequence ?? 0),
    revision: BigInt(revision),
  };
}

/** Input or output of a span. */
export function payloadOf(payload: SpanPayload): MessageInitShape<typeof PayloadSchema> {
  return { slot: payload.slot, text: payload.text, totalCharacters: BigInt(payload.totalCharacters) };
}
