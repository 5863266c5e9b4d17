import { create, toBinary } from "@bufbuild/protobuf";
import { headOf } from "@drover/kernel";
import { TraceRecordSchema } from "@drover/proto/event/v1/trace_frame";
import { redact } from "@drover/redaction";
import type { Attributes } from "./schema.ts";
import type { SpanEnd, SpanEventOptions, SpanStart } from "./span.ts";

/** How much of a text a record keeps, in characters. */
const recordLimits = { name: 200, error: 1_000, eventText: 2_048, attribute: 2_048, payload: 65_536 } as const;

/** Read beyond the cut, so that a secret that the cut would split is still recognised. */
const redactionMargin = 8_192;

/** The span that a record is of. */
export interface RecordOwner {
  readonly spanId: string;
  readonly startNs: bigint;
}

type Body = NonNullable<Parameters<typeof create<typeof TraceRecordSchema>>[1]>["record"];

/** Encodes the start of a span. */
export function startedRecord(owner: RecordOwner, service: string, start: SpanStart): Uint8Array {
  return encode(owner, {
    case: "started",
    value: {
      parentSpanId: start.parent?.spanId ?? "",
      name: safe(start.name, recordLimits.name),
      kind: start.kind,
      service,
      taskId: start.taskId ?? "",
      attributes: attributesOf(start.attributes),
    },
  });
}

/** Encodes a point within a span. */
export function eventRecord(
  owner: RecordOwner,
  event: SpanEventOptions & { readonly kind: string; readonly ordinal: number; readonly timeNs: bigint },
): Uint8Array {
  return encode(owner, {
    case: "event",
    value: {
      ordinal: BigInt(event.ordinal),
      timeNs: event.timeNs,
      kind: event.kind,
      text: safe(event.text ?? "", recordLimits.eventText),
      attributes: attributesOf(event.attributes),
    },
  });
}

/** Encodes what went in or came out. */
export function payloadRecord(owner: RecordOwner, slot: string, text: string): Uint8Array {
  return encode(owner, {
    case: "payload",
    value: { slot, text: safe(text, recordLimits.payload), totalCharacters: BigInt(text.length) },
  });
}

/** Encodes the end of a span. */
export function endedRecord(owner: RecordOwner, endNs: bigint, end: SpanEnd): Uint8Array {
  return encode(owner, {
    case: "ended",
    value: { endNs, error: safe(end.error ?? "", recordLimits.error), attributes: attributesOf(end.attributes) },
  });
}

function encode(owner: RecordOwner, record: Body): Uint8Array {
  return toBinary(
    TraceRecordSchema,
    create(TraceRecordSchema, {
      spanId: owner.spanId,
      spanStartNs: owner.startNs,
      ...(record === undefined ? {} : { record }),
    }),
  );
}

function attributesOf(attributes: Attributes | undefined): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined) continue;
    result[key] = typeof value === "string" ? safe(value, recordLimits.attribute) : String(value);
  }
  return result;
}

function safe(text: string, max: number): string {
  return headOf(redact(headOf(text, max + redactionMargin)).text, max).toWellFormed();
}
