import { fromBinary } from "@bufbuild/protobuf";
import { headOf, storableText } from "@drover/kernel";
import { TraceFrameSchema, type TraceRecord } from "@drover/proto/event/v1/trace_frame";
import { isSpanId, isTraceId } from "@drover/tracing";
import type { Frame } from "../domain/batch.ts";
import type { Attributes, SpanRecord } from "../domain/span.ts";

/** What the service keeps of a text, in characters, whatever a producer sent. */
const kept = { name: 200, word: 64, error: 1_000, text: 2_048, attribute: 2_048, payload: 65_536 } as const;

/** 0 and the end of the year 2260: what a signed 64-bit number of nanoseconds holds safely. */
const timeRange = { from: 0n, to: 9_151_488_000_000_000_000n } as const;

/** Records of one producer come in this many at most, so that frame and place make one integer. */
const recordsPerFrame = 65_536;

const tenantToken = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * A frame as the store takes it, or undefined for bytes that are none. Every text is made storable and
 * cut; a record that cannot be keyed (bad id, impossible time) is left out and counted as dropped.
 */
export function decodeFrame(data: Uint8Array): Frame | undefined {
  const frame = parse(data);
  if (frame === undefined || !tenantToken.test(frame.tenantId) || !isTraceId(frame.traceId)) return undefined;
  const firstSequence = Number(frame.producerSequence % 1_000_000_000n) * recordsPerFrame;
  const records = frame.records
    .slice(0, recordsPerFrame)
    .map((record, index) => recordFrom(record, firstSequence + index))
    .filter((record) => record !== undefined);
  return {
    tenant: frame.tenantId,
    traceId: frame.traceId,
    producer: text(frame.producer, 128),
    dropped: Number(frame.droppedRecords) + frame.records.length - records.length,
    records,
  };
}

function parse(data: Uint8Array) {
  try {
    return fromBinary(TraceFrameSchema, data);
  } catch {
    return undefined;
  }
}

function recordFrom(record: TraceRecord, sequence: number): SpanRecord | undefined {
  const owner = { spanId: record.spanId, startNs: record.spanStartNs };
  if (!isSpanId(owner.spanId) || !isTime(owner.startNs)) return undefined;
  const { record: body } = record;
  switch (body.case) {
    case "started":
      return { ...owner, kind: "started", started: startedFrom(body.value, sequence) };
    case "ended":
      if (!isTime(body.value.endNs)) return undefined;
      return {
        ...owner,
        kind: "ended",
        ended: {
          endNs: body.value.endNs,
          error: text(body.value.error, kept.error),
          attributes: attributesFrom(body.value.attributes),
        },
      };
    case "event":
      if (!isTime(body.value.timeNs)) return undefined;
      return {
        ...owner,
        kind: "event",
        event: {
          ordinal: safe(body.value.ordinal),
          timeNs: body.value.timeNs,
          kind: text(body.value.kind, kept.word),
          text: text(body.value.text, kept.text),
          attributes: attributesFrom(body.value.attributes),
        },
      };
    case "payload":
      return {
        ...owner,
        kind: "payload",
        payload: {
          slot: text(body.value.slot, kept.word),
          text: text(body.value.text, kept.payload),
          totalCharacters: safe(body.value.totalCharacters),
        },
      };
    default:
      return undefined;
  }
}

function startedFrom(value: Extract<TraceRecord["record"], { case: "started" }>["value"], sequence: number) {
  return {
    parentSpanId: isSpanId(value.parentSpanId) ? value.parentSpanId : "",
    name: text(value.name, kept.name),
    kind: text(value.kind, kept.word),
    service: text(value.service, kept.word),
    taskId: text(value.taskId, kept.word),
    attributes: attributesFrom(value.attributes),
    sequence,
  };
}

function attributesFrom(attributes: Readonly<Record<string, string>>): Attributes {
  const entries = Object.entries(attributes).slice(0, 128);
  return Object.fromEntries(entries.map(([key, value]) => [text(key, 128), text(value, kept.attribute)]));
}

function text(value: string, max: number): string {
  return storableText(headOf(value, max));
}

function isTime(ns: bigint): boolean {
  return ns > timeRange.from && ns < timeRange.to;
}

function safe(value: bigint): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
