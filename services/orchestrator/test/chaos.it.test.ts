import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runChaos } from "./history/chaos.ts";
import { historyFaults } from "./history/check-history.ts";

/** `make chaos SEED= MINUTES=` asks for another seed and a longer run. */
const seed = Number(process.env.CHAOS_SEED || Math.floor(Math.random() * 2 ** 31));
const chaosMs = process.env.CHAOS_MINUTES ? Number(process.env.CHAOS_MINUTES) * 60_000 : 40_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "drover-chaos-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test(`under faults by seed ${seed} nothing is lost, done twice or told differently`, {
  timeout: chaosMs + 240_000,
}, async () => {
  const { faults, history, refused } = await runChaos(seed, chaosMs, folder);
  const states = Object.entries(Object.groupBy(history.tasks, ({ state }) => state)).map(
    ([s, all]) => `${s} ${all?.length}`,
  );
  const approvals = Object.groupBy(
    history.tasks.flatMap((task) => task.approvals),
    ({ state }) => state,
  );
  const decided = Object.entries(approvals).map(([s, all]) => `${s} ${all?.length}`);
  const resumed = history.operations.filter(({ kind, outcome }) => kind === "resume" && outcome === "ok").length;
  process.stdout.write(
    `chaos: seed ${seed}, faults ${JSON.stringify(faults)}, tasks ${states.join(", ")}, approvals ${decided.join(", ")}, resumed ${resumed}\n`,
  );
  expect(historyFaults(history)).toEqual([]);
  expect(refused).toBe(0);
  expect(history.tasks.length).toBeGreaterThan(0);
  expect([decided.length, resumed].every((count) => count > 0)).toBe(true);
});
