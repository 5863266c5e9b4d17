import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { compiled } from "./programs/compiled.ts";
import { ends } from "./programs/ends.ts";
import { inputs } from "./programs/input.ts";
import { outputLimits, outputs } from "./programs/output.ts";
import { probes } from "./programs/probes.ts";
import { tryProgram } from "./programs/program.ts";
import { resources } from "./programs/resources.ts";
import { sources } from "./programs/sources.ts";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_SANDBOX_HARD_OUTPUT: "4GiB" });
});
afterAll(async () => {
  expect((await sandbox.run("bash", "echo still fine")).stdout.toString()).toBe("still fine\n");
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

describe.each([
  { about: "ends", programs: ends },
  { about: "resources", programs: resources },
  { about: "output", programs: outputs },
  { about: "input", programs: inputs },
  { about: "sources", programs: sources },
  { about: "compiled", programs: compiled },
  { about: "probes", programs: probes },
])("$about", ({ programs }) => {
  test.each(programs)("$name", async (program) => {
    await tryProgram(sandbox, program);
  });
});

test("what writes without end is ended at the hard limit", async () => {
  await using small = await startUnderTest({ DROVER_SANDBOX_HARD_OUTPUT: "2MiB" });
  for (const program of outputLimits) await tryProgram(small, program);
});
