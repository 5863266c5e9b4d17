import { connectNats } from "@drover/bus";
import { newId } from "@drover/kernel";
import type { Script } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { code, decide, pending, rule } from "./approving.ts";
import { ended, type Harness, type Replica, startHarness, stateName, submit, until } from "./harness.ts";
import { disturbedBus } from "./history/disturbed-bus.ts";
import { plannedScript, promptOf } from "./history/planned-script.ts";
import { Recorder } from "./history/recorder.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.[Symbol.asyncDispose]());

/** Requests that a strict provider would have refused. */
const refused = () => harness.model.requests.filter(({ status }) => status === 400);

/** The messages of each request, as a script reads them, too. */
const sent = () => harness.model.requests.map(({ body }) => (body.messages ?? []) as Parameters<Script>[0]);

test("killed between a call and its result, a task ends, and so does the next one of its conversation", async () => {
  const script: Script = (messages) =>
    messages.at(-1)?.role === "user" ? { toolCalls: [code("sleep 700"), code("print kept")] } : { text: "told" };
  harness.model.use(script);
  const named = { DROVER_REPLICA: "killed", DROVER_LEASE_TTL_MS: "600000" };
  const before = harness.peers.begun.length;
  await using first = await startOrchestratorProcess({ ...harness.environment, ...named });
  await using front = harness.connect(first.address);
  const task = await submit(front, "history", "Be killed");
  await until(() => harness.peers.begun.length === before + 2);
  first.kill("SIGKILL");
  await first.exited;
  await using second = await harness.orchestrator(named);
  const done = await ended(second, "history", task.id);
  expect([stateName(done.state), done.attempt]).toEqual(["SUCCEEDED", 2]);
  const next = await submit(second, "history", "And now?", { conversationId: task.conversationId });
  expect((await ended(second, "history", next.id)).answer).toBe("told");
  expect(refused()).toEqual([]);
  // Each call of the first task stands in the next one's history with one result, in its place.
  const messages = sent().at(-1) ?? [];
  const calls = messages.flatMap(({ tool_calls: made }) => made?.map(({ id }) => id) ?? []);
  const results = messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]));
  expect(calls).toHaveLength(4);
  expect(results).toEqual(calls);
});

test("with two approvals, one after the other, the model gets each result once, behind its call", async () => {
  await using replica = await harness.orchestrator();
  harness.model.use((messages) => {
    const done = messages.filter(({ role }) => role === "tool").length;
    return done < 2 ? { toolCalls: [code(`print ${done}`)] } : { text: "both" };
  });
  await rule(replica, "resent");
  const from = harness.model.requests.length;
  const task = await submit(replica, "resent", "Ask twice");
  for (const _ of [1, 2]) await decide(replica, "resent", (await pending(replica, "resent", task.id))[0]);
  expect((await ended(replica, "resent", task.id)).answer).toBe("both");
  const requests = sent().slice(from);
  const shape = requests.map((messages) => messages.map(({ role }) => role).filter((role) => role !== "system"));
  expect(shape).toEqual([["user"], ["user", "assistant", "tool"], ["user", "assistant", "tool", "assistant", "tool"]]);
  expect(refused()).toEqual([]);
});

test("hints that come late, twice or not at all make two replicas do nothing twice", async () => {
  harness.model.use(plannedScript);
  const seed = Math.floor(Math.random() * 2 ** 31);
  process.stdout.write(`deliveries: seed ${seed}\n`);
  const logger = { warn: () => undefined };
  const replicas: Replica[] = [];
  await using stack = new AsyncDisposableStack();
  for (const n of [0, 1]) {
    const bus = stack.use(await connectNats({ url: String(harness.environment.NATS_URL), name: `slow-${n}`, logger }));
    const changes = { DROVER_CLAIM_POLL_MS: "300", DROVER_WATCH_POLL_MS: "300", DROVER_TENANT_RUNNING: "20" };
    replicas.push(stack.use(await harness.orchestrator(changes, { bus: disturbedBus(bus, seed + n) })));
  }
  const recorder = new Recorder("slow", () => replicas[recorder.operations.length % 2] ?? expect.unreachable());
  const mark = newId();
  const prompts = Array.from({ length: 12 }, (_, n) =>
    promptOf([[`print ${mark} ${n} a`, `print ${mark} ${n} b`], [`print ${mark} ${n} c`]]),
  );
  const ids = await Promise.all(prompts.map((prompt) => recorder.submit(prompt)));
  await Promise.all(ids.map((id) => recorder.watch(id ?? "", AbortSignal.timeout(50_000))));
  const keys = harness.peers.effects.map(({ key }) => key).filter((key) => key.includes(mark));
  expect([keys.length, new Set(keys).size]).toEqual([36, 36]);
  for (const { events, complete } of recorder.watches) {
    expect(complete).toBe(true);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ text }) => text).filter((text) => text.includes("taskCompleted"))).toHaveLength(1);
  }
});
