import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { newId } from "@drover/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, type Harness, startHarness, stateName } from "./harness.ts";
import { historyFaults } from "./history/check-history.ts";
import { failpoints } from "./history/intercept.ts";
import { plannedScript, promptOf } from "./history/planned-script.ts";
import { ownerEntries, recordedTasks } from "./history/read-record.ts";
import { Recorder } from "./history/recorder.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

let harness: Harness;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "drover-history-"));
  harness = await startHarness(plannedScript);
});
afterAll(async () => {
  await harness?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test.each(failpoints)("killed %s, the next owner ends the task and nothing happened twice", async (point) => {
  const tenant = `fail-${point}`;
  const logFile = path.join(folder, `${point}.jsonl`);
  const named = { DROVER_REPLICA: tenant, DROVER_LEASE_TTL_MS: "600000" };
  const plan = { owner: "first", logFile, failAt: { point, hit: 1 } };
  await using first = await startOrchestratorProcess({ ...harness.environment, ...named }, plan);
  await using front = harness.connect(first.address);
  const recorder = new Recorder(tenant, () => front);
  const mark = newId();
  const submitting = recorder.submit(promptOf([[`print ${mark} one`, `print ${mark} two`], [`print ${mark} three`]]));
  await first.exited;
  await submitting;
  await using second = await startOrchestratorProcess(
    { ...harness.environment, ...named },
    { owner: "second", logFile },
  );
  await using back = harness.connect(second.address);
  const { tasks: listed } = await back.client.listTasks({}, back.as(tenant));
  expect(listed).toHaveLength(1);
  const [task] = listed;
  const done = await ended(back, tenant, task?.id ?? "");
  expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", "done after 2 rounds"]);
  const watcher = new Recorder(tenant, () => back);
  await watcher.watch(done.id, AbortSignal.timeout(20_000));
  const effects = harness.peers.effects.filter(({ key }) => key.includes(mark));
  expect(effects.filter(({ completed }) => completed)).toHaveLength(3);
  const history = {
    operations: recorder.operations,
    effects,
    owners: ownerEntries(logFile),
    watches: watcher.watches,
    tasks: await recordedTasks(harness.database.url, tenant),
  };
  expect(historyFaults(history)).toEqual([]);
  expect(harness.model.requests.filter(({ status }) => status === 400)).toEqual([]);
});
