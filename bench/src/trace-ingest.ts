import { createClient } from "@connectrpc/connect";
import { connectNats } from "@drover/bus";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { startNats, startPostgres } from "@drover/testkit";
import { startTrace } from "@drover/trace/wiring";
import { attr, createTracer } from "@drover/tracing";
import pg from "pg";
import { percentile, report, row, rowAgainst } from "./run.ts";

/**
 * Spans from a tracer over JetStream, merged into Postgres, against a bare insert of the same rows in
 * batches of 1,000 on one connection; then how long a started span takes to reach a watcher.
 */
const traces = 50;
const spansPerTrace = 400;
const text = "A tool answered with a line of text that people read. ".repeat(7);
const tenant = "bench";

await using started = new AsyncDisposableStack();
const postgres = started.use(await startPostgres());
const nats = started.use(await startNats());
const keys = await generateIdentityKeys();
const service = started.use(
  await startTrace({
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_LOG_LEVEL: "warn",
    DATABASE_URL: postgres.url,
    NATS_URL: nats.url,
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
  }),
);
const bus = started.use(await connectNats({ url: nats.url, name: "bench" }));
const tracer = started.use(
  createTracer({ service: "bench", bus, limits: { memoryBytes: 512 * 1024 ** 2, flushMs: 120_000 } }),
);
const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "bench" });
const transport = started.use(createRpcTransport({ addresses: service.address, audience: "trace", minter }));
const client = createClient(TraceService, transport);
const as = { contextValues: actingAs({ tenant, subject: "bench", scopes: ["traces:read"] }) };
const database = started.use(await openPool(postgres.url));

async function openPool(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() });
}

/** Spans a second through the tracer, the bus and the service, until the last one can be read. */
async function ours(): Promise<number> {
  const begun = performance.now();
  for (let i = 0; i < traces; i++) {
    const root = tracer.start({ tenant, name: `trace ${i}`, kind: "task" });
    for (let j = 1; j < spansPerTrace; j++) {
      const span = tracer.start({ tenant, name: "call", kind: "tool", parent: root.context });
      span.end({ attributes: { [attr.reason]: text, [attr.resultCharacters]: 40_212 } });
    }
    root.end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await tracer.flush();
  for (;;) {
    const { rows } = await database.query("SELECT count(*)::int AS ended FROM trace.span WHERE state = 4");
    if (rows[0]?.ended >= traces * spansPerTrace) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return (traces * spansPerTrace) / ((performance.now() - begun) / 1_000);
}

/** Rows a second of a plain insert of as many rows with the same columns and indexes, nothing merged. */
async function floor(): Promise<number> {
  await database.query("CREATE TABLE bench_span (LIKE trace.span INCLUDING ALL)");
  const begun = performance.now();
  for (let done = 0; done < traces * spansPerTrace; done += 1_000) {
    const ids = Array.from({ length: 1_000 }, (_, i) => (done + i).toString(16).padStart(16, "0"));
    const attributes = ids.map(() => JSON.stringify({ [attr.reason]: text, [attr.resultCharacters]: "40212" }));
    await database.query(
      `INSERT INTO bench_span (tenant_id, trace_id, span_id, state, start_ns, parent_span_id, name, kind, service, task_id,
         sequence, started_attributes, ended_ns, error, ended_attributes, revision)
       SELECT 'bench', $1, s.id, 4, 1760000000000000000, 'abcdefabcdefabcd', 'call', 'tool', 'bench', '', 1, '{}',
         1760000000100000000, '', s.attributes, 1
       FROM unnest($2::text[], $3::jsonb[]) AS s(id, attributes)`,
      [done.toString(16).padStart(32, "0"), ids, attributes],
    );
  }
  return (traces * spansPerTrace) / ((performance.now() - begun) / 1_000);
}

/** Milliseconds from the start of a span to the moment a watcher has it, one after the other. */
async function liveLatencies(count: number): Promise<number[]> {
  const root = tracer.start({ tenant, name: "live", kind: "task" });
  const leaving = new AbortController();
  const begun = new Map<string, number>();
  const latencies: number[] = [];
  let next = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const piece of client.watchTrace({ traceId: root.context.traceId }, { ...as, signal: leaving.signal })) {
      for (const { spanId } of piece.spans) {
        const at = begun.get(spanId);
        if (at === undefined) continue;
        begun.delete(spanId);
        latencies.push(performance.now() - at);
        next.resolve();
      }
    }
  })().catch(() => undefined);
  await tracer.flush();
  for (let i = 0; i < count; i++) {
    next = Promise.withResolvers<void>();
    const span = tracer.start({ tenant, name: "live call", kind: "tool", parent: root.context });
    begun.set(span.context.spanId, performance.now());
    await next.promise;
    span.end();
    await new Promise((resolve) => setTimeout(resolve, 120));
  }
  root.end();
  leaving.abort();
  await watching;
  return latencies;
}

const rate = await ours();
const bare = await floor();
const latencies = await liveLatencies(60);
const peer = { name: "bare unnest insert, one connection", value: bare, better: "more" } as const;
report("trace-ingest", `${traces * spansPerTrace} spans in ${traces} traces, started and ended; 400 characters each`, [
  rowAgainst("spans stored end to end", "spans/s", rate, peer, ">= 0.15"),
  row("span started to watcher, p50", "ms", percentile(latencies, 0.5), "<= 200"),
  row("span started to watcher, p99", "ms", percentile(latencies, 0.99), "<= 500"),
]);
