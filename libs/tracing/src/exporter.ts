import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type Bus, subjects } from "@drover/bus";
import { DroverError, newId } from "@drover/kernel";
import { TraceFrameSchema } from "@drover/proto/event/v1/trace_frame";
import { type RecordClass, RecordQueue, type TakenRecords, type TraceKey } from "./record-queue.ts";

/** Limits of an exporter, with their defaults in {@link exporterLimits}. */
export interface ExporterLimits {
  /** Records of a trace are sent when so many bytes wait, or after `delayMs`. */
  readonly frameBytes: number;
  readonly delayMs: number;
  /** Memory of everything that waits or is under way. */
  readonly memoryBytes: number;
  /** How long disposing and flushing wait for the bus. */
  readonly flushMs: number;
}

/** 256 KB less room for the frame's own fields; the bus refuses more. */
export const exporterLimits: ExporterLimits = {
  frameBytes: 255 * 1024,
  delayMs: 50,
  memoryBytes: 32 * 1024 * 1024,
  flushMs: 5_000,
};

/** What the exporter says of itself. */
export interface ExporterLog {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const framesAtOnce = 8;
const enqueueMs = 10_000;
const backoff = { firstMs: 100, maxMs: 5_000 };
const recordsField = TraceFrameSchema.field.records.number;

/**
 * Sends encoded records over the bus in frames. `add` never waits and never throws. A frame keeps its
 * message id over all attempts, so that the bus and the store can tell a repeat; a frame that the bus
 * calls invalid is given up and counted in the log.
 */
export class Exporter implements AsyncDisposable {
  readonly #bus: Pick<Bus, "enqueue">;
  readonly #limits: ExporterLimits;
  readonly #log: ExporterLog | undefined;
  readonly #producer: string;
  readonly #queue: RecordQueue;
  readonly #sending = new Map<string, Promise<void>>();
  readonly #closed = new AbortController();
  #sequence = 0;
  #starved = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    service: string;
    bus: Pick<Bus, "enqueue">;
    log?: ExporterLog | undefined;
    limits: ExporterLimits;
  }) {
    this.#bus = options.bus;
    this.#limits = options.limits;
    this.#log = options.log;
    this.#producer = `${options.service}-${newId()}`;
    this.#queue = new RecordQueue(options.limits.memoryBytes);
  }

  /** True while memory is so short that no new span should begin. */
  get full(): boolean {
    return this.#queue.full;
  }

  /** Counts a record that the producer dropped itself. */
  countDropped(key: TraceKey): void {
    this.#queue.countDropped(key);
  }

  add(key: TraceKey, kind: RecordClass, record: Uint8Array): void {
    if (this.#closed.signal.aborted) return;
    this.#queue.add(key, kind, record);
    if (this.#queue.bytesOf(key) >= this.#limits.frameBytes) this.#pump();
    else this.#pumpSoon();
  }

  /** Sends all that waits; resolves when it is accepted or after the limit's `flushMs`. */
  async flush(): Promise<void> {
    const deadline = AbortSignal.timeout(this.#limits.flushMs);
    while (!deadline.aborted) {
      this.#pump();
      if (this.#sending.size === 0) return;
      await Promise.race([Promise.all(this.#sending.values()), aborted(deadline)]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    this.#closed.abort();
    clearTimeout(this.#timer);
    if (this.#queue.bytes > 0) this.#log?.warn({ bytes: this.#queue.bytes }, "Trace records were not sent in time.");
  }

  #pumpSoon(): void {
    this.#timer ??= setTimeout(() => this.#pump(), this.#limits.delayMs).unref();
  }

  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#starved = false;
    for (const key of this.#queue.waiting()) {
      if (this.#sending.size >= framesAtOnce) {
        this.#starved = true;
        return;
      }
      const id = `${key.tenant}/${key.traceId}`;
      if (this.#sending.has(id)) continue;
      const done = this.#sendAll(key).finally(() => {
        this.#sending.delete(id);
        if (this.#closed.signal.aborted) return;
        // What came meanwhile waits its 50 ms like everything else, so that a busy trace is batched too.
        if (this.#starved) this.#pump();
        else if (this.#queue.bytes > 0) this.#pumpSoon();
      });
      this.#sending.set(id, done);
    }
  }

  async #sendAll(key: TraceKey): Promise<void> {
    do {
      const taken = this.#queue.take(key, this.#limits.frameBytes);
      if (taken === undefined) return;
      await this.#send(key, taken);
      this.#queue.release(taken.bytes);
    } while (!this.#closed.signal.aborted && this.#queue.bytesOf(key) >= this.#limits.frameBytes);
  }

  async #send(key: TraceKey, taken: TakenRecords): Promise<void> {
    const sequence = ++this.#sequence;
    const frame = this.#encode(key, taken, sequence);
    for (let wait = backoff.firstMs; ; wait = Math.min(wait * 2, backoff.maxMs)) {
      try {
        await this.#enqueue(key, frame, sequence);
        return;
      } catch (error) {
        if (isHopeless(error) || this.#closed.signal.aborted) {
          this.#log?.warn({ err: error, records: taken.records.length }, "A trace frame was given up.");
          return;
        }
        if (wait === backoff.firstMs) this.#log?.warn({ err: error }, "A trace frame waits for the bus.");
      }
      await pause(wait, this.#closed.signal);
    }
  }

  async #enqueue(key: TraceKey, frame: Uint8Array, sequence: number): Promise<void> {
    const sent = this.#bus.enqueue(subjects.trace(key.tenant, key.traceId), frame, `${this.#producer}:${sequence}`);
    const late = AbortSignal.timeout(enqueueMs);
    await Promise.race([
      sent,
      aborted(late).then(() => {
        throw new DroverError("UNAVAILABLE", `The bus took longer than ${enqueueMs} ms.`);
      }),
    ]);
  }

  /** Records are encoded when they are queued; a frame is its head followed by them as they are. */
  #encode(key: TraceKey, taken: TakenRecords, sequence: number): Uint8Array {
    const head = create(TraceFrameSchema, {
      tenantId: key.tenant,
      traceId: key.traceId,
      producer: this.#producer,
      producerSequence: BigInt(sequence),
      droppedRecords: BigInt(taken.dropped),
    });
    const writer = new BinaryWriter().raw(toBinary(TraceFrameSchema, head));
    for (const record of taken.records) writer.tag(recordsField, WireType.LengthDelimited).bytes(record);
    return writer.finish();
  }
}

function isHopeless(error: unknown): boolean {
  return error instanceof DroverError && error.code === "INVALID_ARGUMENT";
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await Promise.race([
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
    aborted(signal),
  ]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
