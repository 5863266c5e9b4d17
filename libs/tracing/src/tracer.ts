import type { Bus } from "@drover/bus";
import { newSpanId, newTraceContext, type TraceContext } from "./context.ts";
import { Exporter, type ExporterLimits, type ExporterLog, exporterLimits } from "./exporter.ts";
import { endedRecord, eventRecord, payloadRecord, type RecordOwner, startedRecord } from "./record.ts";
import type { RecordClass } from "./record-queue.ts";
import type { Attributes, EventKind } from "./schema.ts";
import type { Span, SpanEnd, SpanEventOptions, SpanStart, Tracer } from "./span.ts";

/** What a tracer needs. */
export interface TracerOptions {
  /** Name of the service, shown with each span. */
  readonly service: string;
  readonly bus: Pick<Bus, "enqueue">;
  readonly logger?: ExporterLog;
  readonly limits?: Partial<TracerLimits>;
}

/** Limits of a tracer. */
export interface TracerLimits extends ExporterLimits {
  /** Events of a span beyond this are dropped and counted. */
  readonly eventsPerSpan: number;
  /** Open spans are announced again so often; the trace service closes what it has not heard of for longer. */
  readonly heartbeatMs: number;
}

const defaults: TracerLimits = { ...exporterLimits, eventsPerSpan: 500, heartbeatMs: 15_000 };

/**
 * A tracer that sends to the trace service over the bus. It bounds its own memory, redacts all text
 * and loses payloads before events before spans; disposing it sends what is queued, within a bound.
 */
export function createTracer(options: TracerOptions): Tracer {
  const limits = { ...defaults, ...options.limits };
  const exporter = new Exporter({ service: options.service, bus: options.bus, log: options.logger, limits });
  const open = new Set<RecordedSpan>();
  const heartbeat = setInterval(() => {
    for (const span of open) span.announce("heartbeat");
  }, limits.heartbeatMs).unref();
  return {
    start(start) {
      const span = new RecordedSpan(options.service, start, { exporter, limits, open });
      span.begin();
      return span;
    },
    flush: () => exporter.flush(),
    async [Symbol.asyncDispose]() {
      clearInterval(heartbeat);
      await exporter[Symbol.asyncDispose]();
    },
  };
}

interface SpanParts {
  readonly exporter: Exporter;
  readonly limits: TracerLimits;
  readonly open: Set<RecordedSpan>;
}

class RecordedSpan implements Span {
  readonly context: TraceContext;
  readonly startedAt: Date;
  readonly #owner: RecordOwner;
  readonly #service: string;
  readonly #start: SpanStart;
  readonly #parts: SpanParts;
  /** Events of a span that another process takes up again must not collide with those it has. */
  readonly #firstOrdinal: number;
  #attributes: Attributes = {};
  #events = 0;
  #recording = true;

  constructor(service: string, start: SpanStart, parts: SpanParts) {
    this.#service = service;
    this.#start = start;
    this.#parts = parts;
    this.context = start.identity ?? childOf(start.parent);
    const startMs = start.startedAt?.getTime() ?? nowMs();
    this.startedAt = new Date(startMs);
    this.#owner = { spanId: this.context.spanId, startNs: toNs(startMs) };
    this.#firstOrdinal = start.identity === undefined ? 0 : Math.floor(nowMs()) * 1_000;
  }

  begin(): void {
    if (this.#parts.exporter.full) {
      this.#recording = false;
      this.#parts.exporter.countDropped(this.#key());
      return;
    }
    this.#parts.open.add(this);
    this.announce("span");
  }

  announce(kind: "span" | "heartbeat"): void {
    this.#add(kind, () => startedRecord(this.#owner, this.#service, this.#start));
  }

  event(kind: EventKind, options: SpanEventOptions = {}): void {
    if (!this.#recording) return;
    if (this.#events >= this.#parts.limits.eventsPerSpan) {
      this.#parts.exporter.countDropped(this.#key());
      return;
    }
    const ordinal = this.#firstOrdinal + this.#events++;
    this.#add("event", () => eventRecord(this.#owner, { ...options, kind, ordinal, timeNs: this.#now() }));
  }

  payload(slot: "input" | "output", text: string | (() => string)): void {
    this.#add("payload", () => payloadRecord(this.#owner, slot, typeof text === "string" ? text : text()));
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  end(options: SpanEnd = {}): void {
    const end = { ...options, attributes: { ...this.#attributes, ...options.attributes } };
    this.#add("span", () => endedRecord(this.#owner, this.#now(), end));
    this.release();
  }

  release(): void {
    this.#recording = false;
    this.#parts.open.delete(this);
  }

  #add(kind: RecordClass, encode: () => Uint8Array): void {
    if (!this.#recording) return;
    try {
      this.#parts.exporter.add(this.#key(), kind, encode());
    } catch {
      // Tracing must never fail the run that it describes; the loss shows in the trace's count.
      this.#parts.exporter.countDropped(this.#key());
    }
  }

  #key() {
    return { tenant: this.#start.tenant, traceId: this.context.traceId };
  }

  #now(): bigint {
    const elapsed = toNs(nowMs()) - this.#owner.startNs;
    return this.#owner.startNs + (elapsed > 0n ? elapsed : 0n);
  }
}

function childOf(parent: TraceContext | undefined): TraceContext {
  return parent === undefined ? newTraceContext() : { traceId: parent.traceId, spanId: newSpanId() };
}

/** Wall-clock milliseconds with a fraction; falls back to whole ones where the two clocks drifted apart. */
function nowMs(): number {
  const fine = performance.timeOrigin + performance.now();
  const coarse = Date.now();
  return Math.abs(fine - coarse) < 100 ? fine : coarse;
}

function toNs(ms: number): bigint {
  return BigInt(Math.round(ms * 1_000)) * 1_000n;
}
