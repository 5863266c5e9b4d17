import { fileURLToPath } from "node:url";
import { patterns } from "@drover/bus";
import { openDatabase } from "@drover/postgres";
import { freshDatabase, startNats } from "@drover/testkit";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Claim, TaskChange, TaskStore } from "../src/application/ports.ts";
import { createPostgresTaskStore, systemJobs } from "../src/infrastructure/postgres-task-store.ts";
import type { OrchestratorSchema } from "../src/infrastructure/schema.ts";
import { startOrchestrator } from "../src/wiring.ts";
import { ended, eventsOf, type Harness, startHarness, stateName, submit, until } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";
import { claiming, newTask, request } from "./task-store.contract.ts";

const directory = fileURLToPath(new URL("../migrations", import.meta.url));
const short = { DROVER_LEASE_TTL_MS: "1500", DROVER_CLAIM_POLL_MS: "200" };
const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.[Symbol.asyncDispose]());

test("a cancel that comes between the record of a call and the call: nothing begins", async () => {
  harness.model.use(callsScript([code("print never")]));
  let cancel: () => Promise<void> = async () => undefined;
  await using service = await startOrchestrator(harness.environment, {
    intercept: ({ store, signals }) => ({
      signals,
      store: {
        ...store,
        async commit(claim, version, change) {
          const outcome = await store.commit(claim, version, change);
          if (change.dispatched !== undefined) await cancel();
          return outcome;
        },
      },
    }),
  });
  await using replica = harness.connect(service.address);
  const heard = Promise.withResolvers<void>();
  await using _ = harness.bus.subscribe(patterns.allCancels(), ({ tokens: [tenant] }) => {
    if (tenant === "late-run") heard.resolve();
  });
  const before = harness.peers.begun.length;
  const submitted = Promise.withResolvers<string>();
  cancel = async () => {
    await replica.client.cancelTask({ taskId: await submitted.promise, reason: "at once" }, replica.as("late-run"));
    await heard.promise;
    // The worker looks at its row once more, which is what it does when it hears of a cancel.
    await new Promise((resolve) => setTimeout(resolve, 500));
  };
  const task = await submit(replica, "late-run", "Never begin");
  submitted.resolve(task.id);
  const events = await eventsOf(replica, "late-run", task.id);
  expect(stateName((await ended(replica, "late-run", task.id)).state)).toBe("CANCELLED");
  expect(harness.peers.begun).toHaveLength(before);
  expect(events.find((e) => e.event.case === "toolCallCompleted")?.event.value).toMatchObject({
    errorCode: "CANCELLED",
  });
});

test("a tool that does not heed its abort is waited for; its late success is kept and overwrites nothing", async () => {
  harness.model.use(callsScript([code("stubborn 5000")]));
  await using replica = await harness.orchestrator();
  const before = harness.peers.begun.length;
  const task = await submit(replica, "stubborn", "Go on");
  await until(() => harness.peers.begun.length === before + 1);
  await replica.client.cancelTask({ taskId: task.id, reason: "stop" }, replica.as("stubborn", undefined, "bob"));
  const events = await eventsOf(replica, "stubborn", task.id);
  expect(harness.peers.ended).toContain(harness.peers.begun.at(-1));
  expect(events.filter((e) => e.event.case === "taskCompleted")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({
    round: 1,
    event: { case: "taskCompleted", value: { failureMessage: "Cancelled by bob in round 1: stop" } },
  });
  const call = events.find((e) => e.event.case === "toolCallCompleted")?.event.value;
  expect(call).toMatchObject({ errorCode: "", summary: expect.stringContaining("exit code 0") });
});

test("while the bus is away a cancel is found at the next renewal", async () => {
  await using nats = await startNats();
  await using lonely = await startHarness(callsScript([code("sleep 600000")]), {
    databaseUrl: harness.database.url,
    natsUrl: nats.url,
  });
  await using replica = await lonely.orchestrator(short);
  const task = await submit(replica, "lonely", "Wait");
  await until(() => lonely.peers.begun.length === 1);
  await nats.stop();
  await replica.client.cancelTask({ taskId: task.id, reason: "unheard" }, replica.as("lonely"));
  expect(stateName((await ended(replica, "lonely", task.id)).state)).toBe("CANCELLED");
  expect(lonely.peers.ended).toHaveLength(1);
});

test("the owner is stopped and the sandbox has not heard: the next owner ends the call before the task is called cancelled", async () => {
  harness.model.use(callsScript([code("sleep 600000")]));
  const before = harness.peers.begun.length;
  await using frozen = await startOrchestratorProcess({ ...harness.environment, ...short });
  await using front = harness.connect(frozen.address);
  const task = await submit(front, "frozen", "Freeze");
  await until(() => harness.peers.begun.length === before + 1);
  frozen.kill("SIGSTOP");
  await using healthy = await harness.orchestrator(short);
  await healthy.client.cancelTask({ taskId: task.id, reason: "frozen" }, healthy.as("frozen"));
  const events = await eventsOf(healthy, "frozen", task.id);
  expect(harness.peers.ended).toContain(harness.peers.begun[before]);
  expect(events.find((e) => e.event.case === "toolCallCompleted")?.event.value).toMatchObject({
    errorCode: "CANCELLED",
  });
  frozen.kill("SIGCONT");
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await eventsOf(healthy, "frozen", task.id)).toEqual(events);
  expect(harness.peers.begun).toHaveLength(before + 1);
});

const running: TaskChange = { state: { to: "RUNNING", actor: "worker", reason: "", input: "claimed" }, round: 1 };
const verifying: TaskChange = { state: { to: "VERIFYING", actor: "worker", reason: "", input: "model_answered" } };
const succeeded: TaskChange = { state: { to: "SUCCEEDED", actor: "worker", reason: "", input: "verified" } };
const cancelled: TaskChange = { state: { to: "CANCELLED", actor: "", reason: "", input: "cancel_requested" } };

/** The last step of a task beside its cancel; gives the state that each of the two was told of. */
async function race(store: TaskStore, claim: Claim) {
  const wish = { actor: "bob", reason: "race", expectedVersion: 0 };
  const [asked, committed] = await Promise.all([
    store.cancel(claim.tenant, claim.taskId, wish),
    store.commit(claim, 3, succeeded),
  ]);
  if (committed.outcome === "cancelled") await store.commit(claim, 3, cancelled);
  return { asked: asked.outcome, committed: committed.outcome };
}

test("1,000 cancels race the last step: one end each, and it is the one that both were told of", async () => {
  await using fresh = await freshDatabase({ service: "orchestrator", directory });
  await using db = openDatabase<OrchestratorSchema>({
    ...{ url: fresh.url, service: "orchestrator", systemJobs, poolMax: 20 },
  });
  const store = createPostgresTaskStore(db);
  const told = new Set<string>();
  for (let batch = 0; batch < 20; batch++) {
    const tenant = `race-${batch}`;
    await Promise.all(Array.from({ length: 50 }, () => store.submit(newTask(tenant), request(), 1_000)));
    const claims = await store.claim("racer", claiming(50));
    expect(claims).toHaveLength(50);
    await Promise.all(
      claims.map(async (claim) => {
        await store.commit(claim, 1, running);
        await store.commit(claim, 2, verifying);
        const { asked, committed } = await race(store, claim);
        const events = await store.events(tenant, claim.taskId, 0, 100);
        const ends = events.flatMap(({ body }) => (body.type === "task_completed" ? [body.state] : []));
        const expected = committed === "committed" ? "SUCCEEDED" : "CANCELLED";
        expect(ends).toEqual([expected]);
        expect((await store.get(tenant, claim.taskId))?.state).toBe(expected);
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        told.add(`${asked} ${committed}`);
      }),
    );
  }
  expect([...told].toSorted()).toEqual(["ended committed", "requested cancelled"]);
});
