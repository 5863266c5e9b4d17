import { fileURLToPath } from "node:url";
import { newId } from "@drover/kernel";
import { openDatabase } from "@drover/postgres";
import { freshDatabase } from "@drover/testkit";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { NewTask, TaskStore } from "../src/application/ports.ts";
import type { TaskRecords } from "../src/application/record-ports.ts";
import { createPostgresTaskRecords } from "../src/infrastructure/postgres-task-records.ts";
import { createPostgresTaskStore, systemJobs } from "../src/infrastructure/postgres-task-store.ts";
import type { OrchestratorSchema } from "../src/infrastructure/schema.ts";
import { newTask, request } from "./task-store.contract.ts";

const directory = fileURLToPath(new URL("../migrations", import.meta.url));
const opened = new AsyncDisposableStack();
let db: ReturnType<typeof openDatabase<OrchestratorSchema>>;
let store: TaskStore;
let records: TaskRecords;
beforeAll(async () => {
  const { url } = opened.use(await freshDatabase({ service: "orchestrator", directory }));
  db = opened.use(openDatabase<OrchestratorSchema>({ url, service: "orchestrator", systemJobs, poolMax: 20 }));
  store = createPostgresTaskStore(db);
  records = createPostgresTaskRecords(db);
});
afterEach(() => asSystem(`DELETE FROM task`));
afterAll(() => opened.disposeAsync());

const limits = { limit: 100, ttlMs: 15_000, perTenant: 100, maxIdle: 3 };

async function asSystem(text: string): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await db.withSystem("claim", (tx) => sql<Record<string, unknown>>`${sql.raw(text)}`.execute(tx));
  return rows;
}

async function submitted(tenant: string, fields: Partial<NewTask> = {}, maxQueued = 1_000) {
  const task = newTask(tenant, fields);
  return { task, result: await store.submit(task, request(), maxQueued) };
}

const countBy = (tenants: readonly string[]) =>
  Object.fromEntries([...new Set(tenants)].sort().map((name) => [name, tenants.filter((t) => t === name).length]));

test("tenants take turns, however many tasks one of them has", async () => {
  for (let i = 0; i < 20; i++) await submitted("big");
  for (let i = 0; i < 2; i++) await submitted("small");
  await submitted("tiny");
  const first = await store.claim("w", { ...limits, limit: 3 });
  expect(countBy(first.map((c) => c.tenant))).toEqual({ big: 1, small: 1, tiny: 1 });
  const second = await store.claim("w", { ...limits, limit: 3 });
  expect(countBy(second.map((c) => c.tenant))).toEqual({ big: 2, small: 1 });
});

test("no tenant has more running than it may, over all claimers", async () => {
  for (let i = 0; i < 12; i++) await submitted("limited");
  const claims = await Promise.all(
    Array.from({ length: 10 }, (_, i) => store.claim(`w${i}`, { ...limits, limit: 3, perTenant: 4 })),
  );
  expect(claims.flat()).toHaveLength(4);
  const [one] = claims.flat();
  if (one !== undefined) await store.release(one, 0);
  expect(await store.claim("w", { ...limits, perTenant: 4 })).toHaveLength(1);
});

test("within a tenant the higher priority comes first, then the older one", async () => {
  const order = [0, -10, 10, 0];
  const ids: string[] = [];
  for (const priority of order) ids.push((await submitted("prio", { priority })).task.id);
  const got: string[] = [];
  for (const _ of order) {
    got.push(...(await store.claim("w", { ...limits, limit: 1 })).map((claim) => claim.taskId));
  }
  expect(got).toEqual([ids[2], ids[0], ids[3], ids[1]]);
});

test("a full queue takes no more, exactly, and what runs does not count", async () => {
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => submitted("full", {}, 5)));
  expect(outcomes.filter(({ result }) => result.outcome === "created")).toHaveLength(5);
  expect(outcomes.filter(({ result }) => result.outcome === "full")).toHaveLength(15);
  await store.claim("w", { ...limits, limit: 2 });
  expect((await submitted("full", {}, 5)).result.outcome).toBe("created");
  expect((await submitted("else", {}, 5)).result.outcome).toBe("created");
});

test("a refused submission leaves its request id free", async () => {
  const task = newTask("free");
  expect((await store.submit(task, request("r", "h"), 0)).outcome).toBe("full");
  expect((await store.submit(task, request("r", "h"), 1)).outcome).toBe("created");
});

test("QUEUE: a task waits until the others of its conversation have ended", async () => {
  const conversationId = newId();
  const { task: first } = await submitted("queue", { conversationId });
  const { task: second } = await submitted("queue", { conversationId, priority: 10 });
  const [claim] = await store.claim("w", limits);
  expect(claim?.taskId).toBe(first.id);
  expect(await store.claim("w", limits)).toEqual([]);
  if (claim === undefined) throw new Error("no claim");
  await store.commit(claim, 1, { state: { to: "FAILED", actor: "w", reason: "X", input: "x" } });
  expect((await store.claim("w", limits)).map((c) => c.taskId)).toEqual([second.id]);
});

test("REJECT: a task is refused while another of its conversation lives", async () => {
  const conversationId = newId();
  const { task: first } = await submitted("reject", { conversationId });
  const busy = await submitted("reject", { conversationId, conversationPolicy: "REJECT" });
  expect(busy.result).toEqual({ outcome: "busy", taskId: first.id });
  expect((await submitted("other", { conversationId, conversationPolicy: "REJECT" })).result.outcome).toBe("created");
  await store.cancel("reject", first.id, { actor: "a", reason: "", expectedVersion: 0 });
  const free = await submitted("reject", { conversationId, conversationPolicy: "REJECT" });
  expect(free.result.outcome).toBe("created");
});

test("INTERRUPT: the others are cancelled, and the new one begins when they have stopped", async () => {
  const conversationId = newId();
  const { task: running } = await submitted("interrupt", { conversationId });
  const [claim] = await store.claim("w", limits);
  const { task: waiting } = await submitted("interrupt", { conversationId });
  const { task, result } = await submitted("interrupt", { conversationId, conversationPolicy: "INTERRUPT" });
  expect(result).toMatchObject({ outcome: "created" });
  expect("interrupted" in result && [...result.interrupted].sort()).toEqual([running.id, waiting.id].sort());
  expect((await store.get("interrupt", waiting.id))?.state).toBe("CANCELLED");
  expect((await store.get("interrupt", running.id))?.cancelRequested).toBe(true);
  expect(await store.claim("w", limits)).toEqual([]);
  if (claim === undefined) throw new Error("no claim");
  await store.commit(claim, 1, { state: { to: "CANCELLED", actor: "", reason: "", input: "cancel_requested" } });
  expect((await store.claim("w", limits)).map((c) => c.taskId)).toEqual([task.id]);
});

/** Claims, as a worker that dies at once. */
async function claimInVain(times: number): Promise<number> {
  let got = 0;
  for (let i = 0; i < times; i++) {
    got += (await store.claim("mortal", limits)).length;
    await asSystem("UPDATE task SET lease_until = now() - interval '1 second' WHERE lease_owner = 'mortal'");
  }
  return got;
}

test("a task that was claimed in vain too often is a dead letter, and can be resumed", async () => {
  const { task } = await submitted("dead");
  expect(await claimInVain(4)).toBe(3);
  expect(await records.bury(limits.maxIdle)).toMatchObject([{ tenant: "dead", taskId: task.id }]);
  expect(await records.bury(limits.maxIdle)).toEqual([]);
  expect(await store.get("dead", task.id)).toMatchObject({ state: "FAILED", failureReason: "DEAD_LETTER" });
  const budgets = { rounds: 0, wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 };
  const wish = { actor: "a", expectedVersion: 0, budgets, requestId: "", bodyHash: "", maxQueued: 10 };
  expect((await records.resume("dead", task.id, wish)).outcome).toBe("resumed");
  expect(await store.claim("w", limits)).toHaveLength(1);
  expect(await store.get("dead", task.id)).toMatchObject({ state: "RUNNING", failureReason: "", resumes: 1 });
});

test("a commit starts the count anew, and a cancelled task ends as that", async () => {
  const { task } = await submitted("alive");
  await claimInVain(2);
  const [claim] = await store.claim("w", limits);
  if (claim === undefined) throw new Error("no claim");
  await store.commit(claim, 1, { state: { to: "RUNNING", actor: "w", reason: "", input: "claimed" } });
  await asSystem("UPDATE task SET lease_until = now() - interval '1 second'");
  expect(await claimInVain(2)).toBe(2);
  expect(await records.bury(limits.maxIdle)).toEqual([]);
  await asSystem("UPDATE task SET cancel_requested_at = now(), cancel_actor = 'bob'");
  expect(await claimInVain(2)).toBe(1);
  await records.bury(limits.maxIdle);
  expect((await store.get("alive", task.id))?.state).toBe("CANCELLED");
});

test("what a drain hands over is no claim in vain", async () => {
  await submitted("drain");
  for (let i = 0; i < 10; i++) {
    const [claim] = await store.claim("w", limits);
    if (claim === undefined) throw new Error(`nothing to claim in turn ${i}`);
    await store.release(claim, 0);
  }
  expect(await records.bury(limits.maxIdle)).toEqual([]);
});

test("who finds nothing to claim does not wait for those who claim", async () => {
  const { task } = await submitted("lock");
  const [claim] = await store.claim("w", limits);
  expect(claim?.taskId).toBe(task.id);
  await db.withSystem("claim", async (tx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended('claim', 0))`.execute(tx);
    // This would never return if it waited: the lock is held until it has.
    expect(await store.claim("w", limits)).toEqual([]);
  });
});

test("the next of 10,000 tasks of 100 tenants are found without reading them all", async () => {
  await asSystem(`INSERT INTO task (tenant_id, id, state, mode, prompt, model, collection, conversation_id, trace_id,
      created_by, max_rounds) SELECT 'tenant' || (n % 100), gen_random_uuid(), 'CREATED', 'REACT', 'x', 'm', 'c',
      gen_random_uuid(), 't', 'a', 10 FROM generate_series(1, 10000) n`);
  await asSystem("ANALYZE task");
  const read = await db.withSystem("claim", async (tx) => {
    const counts = async () => {
      const { rows } = await sql<{ whole: number; rows: number }>`SELECT seq_scan AS whole, idx_tup_fetch AS rows
        FROM pg_stat_xact_user_tables WHERE schemaname = 'orchestrator' AND relname = 'task'`.execute(tx);
      return rows[0] ?? { whole: 0, rows: 0 };
    };
    const before = await counts();
    const { rows: found } = await sql`SELECT * FROM claimable_tasks(4, 4, 5)`.execute(tx);
    expect(found).toHaveLength(4);
    const after = await counts();
    return { whole: after.whole - before.whole, rows: after.rows - before.rows };
  });
  expect(read.whole).toBe(0);
  // A few of each tenant, and the others of their conversations.
  expect(read.rows).toBeLessThan(2_500);
  expect(await store.claim("w", { ...limits, limit: 4 })).toHaveLength(4);
});

test("what is past its retention goes, a chunk at a time; what lives keeps its newest event", async () => {
  const { task: old } = await submitted("keep");
  const { task: young } = await submitted("keep");
  const { task: living } = await submitted("keep");
  await store.submit(newTask("keep"), request("forgotten", "h"), 1_000);
  for (const { id } of [old, young]) await store.cancel("keep", id, { actor: "a", reason: "", expectedVersion: 0 });
  const [claim] = await store.claim("w", { ...limits, limit: 1 });
  if (claim?.taskId !== living.id) throw new Error("another task was claimed");
  const told = Array.from({ length: 3 }, (_, n) => ({ type: "notice", code: "X", text: `${n}` }) as const);
  await store.commit(claim, 1, { events: told });
  await asSystem(`UPDATE task SET ended_at = now() - interval '31 days' WHERE id = '${old.id}'`);
  await asSystem(`UPDATE task SET created_at = now() - interval '40 days' WHERE id = '${living.id}'`);
  await asSystem(`UPDATE event SET at = now() - interval '31 days' WHERE task_id = '${living.id}' AND sequence <> 3`);
  await asSystem("UPDATE request_id SET created_at = now() - interval '31 days'");
  const removed: number[] = [];
  for (;;) {
    const [row] = await asSystem("SELECT removed FROM expire_tasks(30, 1)");
    if (Number(row?.removed) === 0) break;
    removed.push(Number(row?.removed));
  }
  expect(removed.length).toBeGreaterThan(1);
  expect(await store.get("keep", old.id)).toBeUndefined();
  expect((await store.get("keep", young.id))?.state).toBe("CANCELLED");
  const events = await store.events("keep", living.id, 0, 10);
  expect(events.map(({ sequence }) => sequence)).toEqual([3, 4]);
  expect((await store.get("keep", living.id))?.firstSequence).toBe(3);
  expect(await asSystem("SELECT * FROM request_id")).toEqual([]);
  expect(await records.expire(30)).toBe(0);
});
