import { callsScript, echoScript, type Script } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, startHarness, stateName, submit, until } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.[Symbol.asyncDispose]());

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });
const prompt = { DROVER_CLAIM_POLL_MS: "200" };
const short = { ...prompt, DROVER_LEASE_TTL_MS: "1500" };

test("killed in the middle of a tool and started again, a task ends with the same answer", async () => {
  harness.model.use(callsScript([code("sleep 900"), code("print second")]));
  const named = { DROVER_LEASE_TTL_MS: "600000", DROVER_REPLICA: "the-same" };
  const before = harness.peers.begun.length;
  await using first = await startOrchestratorProcess({ ...harness.environment, ...named });
  await using front = harness.connect(first.address);
  const task = await submit(front, "crash", "Survive");
  await until(() => harness.peers.begun.length === before + 2);
  first.kill("SIGKILL");
  await first.exited;
  await using second = await harness.orchestrator(named);
  const events = await eventsOf(second, "crash", task.id);
  const done = await ended(second, "crash", task.id);
  expect([stateName(done.state), done.attempt]).toEqual(["SUCCEEDED", 2]);
  expect(done.answer).toMatch(/1\. OK: python: exit code 0[\s\S]*slept 900[\s\S]*2\. OK[\s\S]*second/);
  expect(events.map((e) => Number(e.sequence))).toEqual(events.map((_, i) => i + 1));
  expect(events.filter((e) => e.event.case === "toolCallRequested")).toHaveLength(2);
  // The call that had its result in the sandbox was not run a second time.
  expect(harness.peers.begun.filter((id) => id === harness.peers.begun[before + 1])).toHaveLength(1);
});

test("a stopped worker loses its task, and when it comes back it can write nothing", async () => {
  const script: Script = (messages) =>
    messages.some((m) => m.role === "tool") ? { text: "done", delayMs: 300 } : { toolCalls: [code("sleep 1200")] };
  harness.model.use(script);
  const before = harness.peers.begun.length;
  await using zombie = await startOrchestratorProcess({ ...harness.environment, ...short });
  await using front = harness.connect(zombie.address);
  const task = await submit(front, "zombie", "Freeze");
  await until(() => harness.peers.begun.length === before + 1);
  zombie.kill("SIGSTOP");
  await using healthy = await harness.orchestrator(short);
  const events = await eventsOf(healthy, "zombie", task.id);
  zombie.kill("SIGCONT");
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await eventsOf(healthy, "zombie", task.id)).toEqual(events);
  expect(events.filter((e) => e.event.case === "taskCompleted")).toHaveLength(1);
  const done = await ended(healthy, "zombie", task.id);
  expect([stateName(done.state), done.attempt]).toEqual(["SUCCEEDED", 2]);
});

test("a worker that drains hands its task over, and it ends elsewhere", async () => {
  // Longer than the test may take: a drain that waits for the tool fails by time-out.
  harness.model.use(callsScript([code("sleep 600000")]));
  const before = harness.peers.begun.length;
  const leaving = await harness.orchestrator(short);
  const task = await submit(leaving, "drain", "Hand over");
  await until(() => harness.peers.begun.length === before + 1);
  harness.model.use(echoScript);
  await leaving[Symbol.asyncDispose]();
  await using staying = await harness.orchestrator(short);
  await until(() => harness.peers.begun.length > before + 1);
  await staying.client.cancelTask({ taskId: task.id }, staying.as("drain"));
  const done = await ended(staying, "drain", task.id);
  expect([stateName(done.state), done.attempt]).toEqual(["CANCELLED", 2]);
});

test("two replicas share the work, and no task is worked on twice", async () => {
  harness.model.use(callsScript([code("sleep 30")]));
  // Nobody dies here, so nobody may lose a lease because the machine is slow.
  await using one = await harness.orchestrator(prompt);
  await using two = await harness.orchestrator(prompt);
  const before = harness.peers.begun.length;
  const tasks = await Promise.all(
    Array.from({ length: 20 }, (_, i) => submit(i % 2 === 0 ? one : two, "share", `Task ${i}`)),
  );
  const done = await Promise.all(tasks.map((task) => ended(one, "share", task.id)));
  expect(done.map((task) => [stateName(task.state), task.attempt])).toEqual(done.map(() => ["SUCCEEDED", 1]));
  expect(harness.peers.begun.length - before).toBe(20);
});
