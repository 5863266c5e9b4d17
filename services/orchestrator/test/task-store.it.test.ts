import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { migrate, openDatabase, startEmbeddedPostgres } from "@drover/postgres";
import { freshDatabase } from "@drover/testkit";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TaskStore } from "../src/application/ports.ts";
import { canTransition, taskStates } from "../src/domain/task-state.ts";
import { createPostgresTaskStore, systemJobs } from "../src/infrastructure/postgres-task-store.ts";
import type { OrchestratorSchema } from "../src/infrastructure/schema.ts";
import { claimed, claiming, newTask, request, taskStoreContract } from "./task-store.contract.ts";

const directory = fileURLToPath(new URL("../migrations", import.meta.url));
const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

function open(url: string) {
  return opened.use(openDatabase<OrchestratorSchema>({ url, service: "orchestrator", systemJobs, poolMax: 20 }));
}

async function openReal() {
  const database = opened.use(await freshDatabase({ service: "orchestrator", directory }));
  return open(database.url);
}

taskStoreContract("on Postgres", async () => createPostgresTaskStore(await openReal()));

taskStoreContract("on the embedded database", async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), "drover-orchestrator-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const embedded = opened.use(await startEmbeddedPostgres({ dataDir }));
  await migrate({ url: embedded.url, service: "orchestrator", directory });
  return createPostgresTaskStore(open(embedded.url));
});

let db: ReturnType<typeof open>;
let store: TaskStore;
beforeAll(async () => {
  db = await openReal();
  store = createPostgresTaskStore(db);
});

test("the database has the same transitions as the domain", async () => {
  const { rows } = await db.withTenant("acme", (tx) =>
    sql<{ f: string; t: string; allowed: boolean }>`
      SELECT f, t, transition_allowed(f, t) AS allowed
      FROM unnest(${[...taskStates]}::text[]) f, unnest(${[...taskStates]}::text[]) t`.execute(tx),
  );
  expect(rows).toHaveLength(taskStates.length ** 2);
  for (const { f, t, allowed } of rows) expect([f, t, allowed]).toEqual([f, t, canTransition(f as never, t as never)]);
});

test("many claimers at once never get the same task", async () => {
  const tasks = Array.from({ length: 60 }, () => newTask("race"));
  await Promise.all(tasks.map((task) => store.submit(task, request("", ""), 1_000)));
  const claims: string[] = [];
  await Promise.all(
    Array.from({ length: 12 }, async (_, worker) => {
      for (;;) {
        const got = await store.claim(`w${worker}`, claiming(3));
        if (got.length === 0) return;
        claims.push(...got.map((claim) => claim.taskId));
      }
    }),
  );
  expect(new Set(claims).size).toBe(claims.length);
  // SKIP LOCKED may leave a row for the next look; nothing may stay for ever.
  claims.push(...(await store.claim("rest", claiming(60))).map((claim) => claim.taskId));
  expect(new Set(claims)).toEqual(new Set(tasks.map((task) => task.id)));
});

test("a cancel that races the last commit leaves exactly one end", async () => {
  for (let i = 0; i < 25; i++) {
    const claim = await claimed(store, "endrace");
    const to = (state: "RUNNING" | "VERIFYING" | "SUCCEEDED") => ({
      state: { to: state, actor: "w", reason: "", input: "x" },
    });
    await store.commit(claim, 1, to("RUNNING"));
    await store.commit(claim, 2, to("VERIFYING"));
    const [won, cancel] = await Promise.all([
      store.commit(claim, 3, to("SUCCEEDED")),
      store.cancel("endrace", claim.taskId, { actor: "bob", reason: "", expectedVersion: 0 }),
    ]);
    if (won.outcome === "cancelled")
      await store.commit(claim, 3, { state: { ...to("RUNNING").state, to: "CANCELLED" } });
    const events = await store.events("endrace", claim.taskId, 0, 100);
    expect(events.filter((e) => e.body.type === "task_completed")).toHaveLength(1);
    const state = (await store.get("endrace", claim.taskId))?.state;
    expect([won.outcome, cancel.outcome, state]).toEqual(
      won.outcome === "committed" ? ["committed", "ended", "SUCCEEDED"] : ["cancelled", "requested", "CANCELLED"],
    );
  }
});

test("writing past the functions is held back by row-level security", async () => {
  const task = newTask("mine");
  await store.submit(task, request("", ""), 1_000);
  const touched = await db.withTenant("yours", (tx) => sql`UPDATE task SET prompt = 'stolen'`.execute(tx));
  expect(touched.numAffectedRows).toBe(0n);
});
