/** How readily a record is dropped when memory is short: payloads first, then events, spans never. */
export type RecordClass = "payload" | "event" | "heartbeat" | "span";

/** The trace a queue of records belongs to. */
export interface TraceKey {
  readonly tenant: string;
  readonly traceId: string;
}

/** Records of one trace, ready to be sent as one frame. */
export interface TakenRecords {
  readonly records: readonly Uint8Array[];
  readonly bytes: number;
  /** Records of this trace dropped so far, over the life of the queue. */
  readonly dropped: number;
}

/** A record; once it was taken or dropped only its empty shell stays in the lists. */
interface Item {
  bytes: Uint8Array | undefined;
  readonly kind: RecordClass;
  readonly trace: TraceRecords;
}

interface TraceRecords extends TraceKey {
  items: Item[];
  bytes: number;
  dropped: number;
}

/**
 * Encoded records that wait to be sent, grouped by trace, within `limitBytes` in all. What was taken
 * counts until it is released. Over the limit the oldest payloads go, then the oldest events; starts
 * and ends stay, so that from twice the limit on `full` asks the producer to begin no new span.
 */
export class RecordQueue {
  readonly #limit: number;
  readonly #traces = new Map<string, TraceRecords>();
  readonly #payloads = new Shells();
  readonly #events = new Shells();
  readonly #dropped = new Map<string, number>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get full(): boolean {
    return this.#bytes >= this.#limit * 2;
  }

  /** Traces with something to send, oldest first. */
  waiting(): readonly TraceKey[] {
    return [...this.#traces.values()];
  }

  /** Bytes that wait for one trace. */
  bytesOf(key: TraceKey): number {
    return this.#traces.get(keyOf(key))?.bytes ?? 0;
  }

  add(key: TraceKey, kind: RecordClass, bytes: Uint8Array): void {
    const trace = this.#traceOf(key);
    const item: Item = { bytes, kind, trace };
    trace.items.push(item);
    trace.bytes += bytes.byteLength;
    this.#bytes += bytes.byteLength;
    if (kind === "payload") this.#payloads.add(item);
    else if (kind !== "span") this.#events.add(item);
    if (this.#bytes > this.#limit) this.#shed();
  }

  /** Counts a record that was dropped before it was queued. */
  countDropped(key: TraceKey): void {
    const id = keyOf(key);
    const trace = this.#traces.get(id);
    if (trace !== undefined) trace.dropped++;
    else this.#remember(id, (this.#dropped.get(id) ?? 0) + 1);
  }

  /** Takes the oldest records of a trace that fit into one frame, at least one; undefined if none wait. */
  take(key: TraceKey, frameBytes: number): TakenRecords | undefined {
    const id = keyOf(key);
    const trace = this.#traces.get(id);
    if (trace === undefined) return undefined;
    const records: Uint8Array[] = [];
    let bytes = 0;
    let taken = 0;
    for (const item of trace.items) {
      if (item.bytes !== undefined) {
        if (records.length > 0 && bytes + item.bytes.byteLength > frameBytes) break;
        records.push(item.bytes);
        bytes += item.bytes.byteLength;
        item.bytes = undefined;
      }
      taken++;
    }
    trace.items = trace.items.slice(taken);
    trace.bytes -= bytes;
    if (trace.items.length === 0) this.#forget(id, trace);
    return records.length === 0 ? undefined : { records, bytes, dropped: trace.dropped };
  }

  /** Gives back the memory of records that were sent or given up. */
  release(bytes: number): void {
    this.#bytes -= bytes;
  }

  #traceOf(key: TraceKey): TraceRecords {
    const id = keyOf(key);
    let trace = this.#traces.get(id);
    if (trace === undefined) {
      trace = { tenant: key.tenant, traceId: key.traceId, items: [], bytes: 0, dropped: this.#dropped.get(id) ?? 0 };
      this.#traces.set(id, trace);
    }
    return trace;
  }

  #forget(id: string, trace: TraceRecords): void {
    this.#traces.delete(id);
    if (trace.dropped > 0) this.#remember(id, trace.dropped);
  }

  /** Keeps the counts of the last 10,000 traces that lost something. */
  #remember(id: string, dropped: number): void {
    this.#dropped.delete(id);
    this.#dropped.set(id, dropped);
    const oldest = this.#dropped.keys().next();
    if (this.#dropped.size > 10_000 && !oldest.done) this.#dropped.delete(oldest.value);
  }

  #shed(): void {
    for (const shells of [this.#payloads, this.#events]) {
      while (this.#bytes > this.#limit) {
        const item = shells.oldest();
        if (item?.bytes === undefined) break;
        item.trace.bytes -= item.bytes.byteLength;
        this.#bytes -= item.bytes.byteLength;
        item.bytes = undefined;
        if (item.kind !== "heartbeat") item.trace.dropped++;
      }
    }
  }
}

/** Records in the order they came; empty shells are swept when half of the list may be such. */
class Shells {
  #items: Item[] = [];
  #next = 0;
  #sweepAt = 1_024;

  add(item: Item): void {
    this.#items.push(item);
    if (this.#items.length < this.#sweepAt) return;
    this.#items = this.#items.slice(this.#next).filter((other) => other.bytes !== undefined);
    this.#next = 0;
    this.#sweepAt = Math.max(1_024, this.#items.length * 2);
  }

  /** The oldest record that still waits. */
  oldest(): Item | undefined {
    while (this.#next < this.#items.length && this.#items[this.#next]?.bytes === undefined) this.#next++;
    return this.#items[this.#next];
  }
}

function keyOf(key: TraceKey): string {
  return `${key.tenant}/${key.traceId}`;
}
