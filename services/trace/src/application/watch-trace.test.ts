import { DroverError, systemClock } from "@drover/kernel";
import { describe, expect, it } from "vitest";
import { emptyTrace } from "../domain/trace.ts";
import type { Changes, RevisionHints, SpanRow, TraceReader } from "./ports.ts";
import { RevisionHub } from "./revision-hub.ts";
import { type TracePiece, type WatchLimits, watchLimits, watchTrace } from "./watch-trace.ts";

const key = { tenant: "acme", traceId: "a".repeat(32) };
const limits: WatchLimits = { ...watchLimits, pollMs: 5_000, coalesceMs: 1, quietMs: 20 };

/** Spans in memory, each with the revision in which it last changed. */
class MemoryTrace implements TraceReader {
  readonly spans = new Map<string, number>();
  open = 1;
  changedAt = performance.now();
  reads = 0;

  put(spanId: string): number {
    const revision = this.revision + 1;
    this.spans.set(spanId, revision);
    this.changedAt = performance.now();
    return revision;
  }

  get revision(): number {
    return Math.max(0, ...this.spans.values());
  }

  async changes(_: unknown, after: { revision: number; spanId: string }, limit: number): Promise<Changes> {
    this.reads++;
    if (this.spans.size === 0) return { row: undefined, spans: [], last: true };
    const trace = { ...emptyTrace, revision: this.revision, openCount: this.open, spanCount: this.spans.size };
    const row = { traceId: key.traceId, trace, quietMs: performance.now() - this.changedAt };
    const spans = [...this.spans]
      .filter(([id, revision]) => revision > after.revision || (revision === after.revision && id > after.spanId))
      .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([spanId, revision]): SpanRow => ({ span: { spanId, startNs: 1n }, events: [], revision }));
    return { row, spans, last: spans.length < limit };
  }

  list = async () => [];
  span = async () => undefined;
}

function hintsInMemory() {
  const listeners = new Set<(revision: number) => void>();
  const hints: RevisionHints = {
    publish: ({ revision }) => listeners.forEach((listener) => void listener(revision)),
    subscribe: (_, listener) => {
      listeners.add(listener);
      return { [Symbol.asyncDispose]: async () => void listeners.delete(listener) };
    },
  };
  return { hints, listeners };
}

function setUp(some: Partial<WatchLimits> = {}) {
  const reader = new MemoryTrace();
  const { hints, listeners } = hintsInMemory();
  const hub = new RevisionHub(hints);
  const leaving = new AbortController();
  const parts = { reader, hub, clock: systemClock, limits: { ...limits, ...some } };
  const watch = (after = 0) => watchTrace(parts, key, after, leaving.signal);
  const put = (...ids: string[]) => {
    for (const id of ids) hints.publish({ ...key, revision: reader.put(id) });
  };
  return { reader, hub, leaving, watch, put, listeners };
}

async function collect(pieces: AsyncIterable<TracePiece>): Promise<{ ids: string[]; revisions: number[] }> {
  const ids: string[] = [];
  const revisions: number[] = [];
  for await (const piece of pieces) {
    ids.push(...piece.spans.map(({ span }) => span.spanId));
    revisions.push(piece.revision);
  }
  return { ids, revisions };
}

describe("watchTrace", () => {
  it("answers at once for a trace that is not there, and brings its spans when they come", async () => {
    const { watch, put, leaving, listeners } = setUp();
    const pieces = watch();
    expect((await pieces.next()).value).toMatchObject({ revision: 0, spans: [], row: undefined });
    const next = pieces.next();
    put("01");
    expect((await next).value).toMatchObject({ revision: 1, spans: [{ span: { spanId: "01" } }] });
    expect(listeners.size).toBe(1);
    const ended = pieces.next();
    leaving.abort();
    await expect(ended).rejects.toThrow();
    expect(listeners.size).toBe(0);
  });

  it("ends when nothing runs and nothing changed for a while", async () => {
    const { reader, watch, put } = setUp();
    put("01", "02");
    reader.open = 0;
    expect(await collect(watch())).toEqual({ ids: ["01", "02"], revisions: [2] });
  });

  it("ends at once for an ended trace", async () => {
    // Whatever waits, waits longer than the test may take.
    const { reader, watch, put } = setUp({ coalesceMs: 600_000 });
    put("01", "02");
    reader.open = 0;
    reader.changedAt = performance.now() - 1_000;
    expect(await collect(watch(2))).toEqual({ ids: [], revisions: [2] });
  });

  it("names only revisions that were sent as a whole, so that a break anywhere loses nothing", async () => {
    const { reader, watch } = setUp({ readSpans: 2, pieceBytes: 1 });
    for (let i = 0; i < 7; i++) reader.put(String(i));
    for (const id of ["a", "b", "c"]) reader.spans.set(id, 7);
    reader.open = 0;
    reader.changedAt = 0;
    const whole: TracePiece[] = [];
    for await (const piece of watch()) whole.push(piece);
    for (let seen = 1; seen <= whole.length; seen++) {
      const before = whole.slice(0, seen).flatMap(({ spans }) => spans.map(({ span }) => span.spanId));
      const rest = await collect(watch(whole[seen - 1]?.revision));
      expect(new Set([...before, ...rest.ids]).size).toBe(10);
    }
  });

  it("makes one message of many changes", async () => {
    const { watch, put, reader } = setUp({ coalesceMs: 30 });
    put("01");
    const pieces = watch();
    await pieces.next();
    const next = pieces.next();
    for (let i = 10; i < 60; i++) put(String(i));
    expect((await next).value?.spans).toHaveLength(50);
    expect(reader.reads).toBeLessThan(6);
    await pieces.return();
  });

  it("sends everything again when the trace is of another life than the watcher's", async () => {
    const { reader, watch, put } = setUp();
    put("01", "02");
    reader.open = 0;
    reader.changedAt = 0;
    expect(await collect(watch(99))).toEqual({ ids: ["01", "02"], revisions: [2] });
  });

  it("sends a heartbeat where nothing changes", async () => {
    const { watch, put } = setUp({ heartbeatMs: 40, pollMs: 10 });
    put("01");
    const pieces = watch();
    await pieces.next();
    expect((await pieces.next()).value).toMatchObject({ revision: 1, spans: [] });
    await pieces.return();
  });

  it("sends watchers elsewhere when the service drains", async () => {
    const { watch, put, hub } = setUp();
    put("01");
    const pieces = watch();
    await pieces.next();
    const next = pieces.next().catch((error: unknown) => DroverError.from(error).code);
    hub[Symbol.dispose]();
    expect(await next).toBe("UNAVAILABLE");
  });

  it("shares one subscription between the watchers of a trace", async () => {
    const { watch, put, listeners } = setUp();
    put("01");
    const watchers = [watch(), watch(), watch()];
    for (const pieces of watchers) await pieces.next();
    expect(listeners.size).toBe(1);
    for (const pieces of watchers) await pieces.return();
    expect(listeners.size).toBe(0);
  });
});
