import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { letGo } from "../src/let-go.ts";
import { ended, type Harness, startHarness, stateName, submit, until } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.[Symbol.asyncDispose]());

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });
/** Nothing but a wake-up makes a replica look for work within a test. */
const patient = { DROVER_LEASE_TTL_MS: "600000", DROVER_CLAIM_POLL_MS: "60000" };
const effectsOf = (key: string) => harness.peers.effects.filter((effect) => effect.key === key);

test("what a killed process held is let go by its name alone, and another replica is woken for it", async () => {
  harness.model.use(callsScript([code("sleep 600"), code("print let go")]));
  const name = { ...patient, DROVER_REPLICA: "fallen" };
  await using fallen = await startOrchestratorProcess({ ...harness.environment, ...name });
  await using front = harness.connect(fallen.address);
  const task = await submit(front, "letgo", "Go on elsewhere");
  await until(() => effectsOf("sleep 600").length > 0);
  await using other = await harness.orchestrator({ ...patient, DROVER_REPLICA: "standing" });
  fallen.kill("SIGKILL");
  await fallen.exited;
  expect(await letGo({ ...harness.environment, ...patient })).toBe(0);
  expect(await letGo({ ...harness.environment, ...patient, DROVER_REPLICA: "another" })).toBe(0);
  const away = { DATABASE_URL: "postgres://x:y@127.0.0.1:1/x" };
  expect(await letGo({ ...harness.environment, ...name, ...away })).toBe(0);
  expect(await letGo({ ...harness.environment, ...name })).toBe(1);
  const done = await ended(other, "letgo", task.id);
  expect([stateName(done.state), done.attempt]).toEqual(["SUCCEEDED", 2]);
  expect(await letGo({ ...harness.environment, ...name })).toBe(0);
});

test("two living processes of one name take tasks from each other once, and nothing is done twice", async () => {
  const programs = Array.from({ length: 6 }, (_, n) => code(`sleep 150 of twin ${n}`));
  harness.model.use((messages) => {
    const prompt = String(messages.find(({ role }) => role === "user")?.content);
    const call = programs[messages.filter(({ role }) => role === "tool").length];
    if (call === undefined) return { text: "done" };
    return { toolCalls: [{ ...call, arguments: { ...call.arguments, code: `${call.arguments.code} ${prompt}` } }] };
  });
  const name = { DROVER_REPLICA: "twin", DROVER_CLAIM_POLL_MS: "100" };
  await using first = await harness.orchestrator(name);
  const tasks = await Promise.all(["Task a", "Task b", "Task c"].map((prompt) => submit(first, "twins", prompt)));
  await until(() => harness.peers.effects.some(({ key }) => key.includes("of twin 0")));
  await letGo({ ...harness.environment, ...name });
  await using second = await harness.orchestrator(name);
  const done = await Promise.all(tasks.map((task) => ended(second, "twins", task.id)));
  for (const { state, attempt } of done) {
    expect(stateName(state)).toBe("SUCCEEDED");
    // Let go once by each look of the start: before the service is loaded, and by its worker.
    expect(attempt).toBeLessThanOrEqual(3);
  }
  const keys = harness.peers.effects.map(({ key }) => key).filter((key) => key.includes("of twin"));
  expect(keys.length).toBe(new Set(keys).size);
  expect(keys).toHaveLength(18);
});
