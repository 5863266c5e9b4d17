import { expect, test } from "vitest";
import { applyLimits, defaultLimitPolicy as policy } from "./limits.ts";

const zero = { wallMs: 0, memoryBytes: 0, cpuMillis: 0, processes: 0, outputBytes: 0, compileMs: 0, cpuTimeMs: 0 };

test("zero takes the defaults, which are the documented ones", () => {
  expect(applyLimits(zero, policy)).toEqual({
    wallMs: 30_000,
    memoryBytes: 536_870_912,
    cpuMillis: 1000,
    processes: 100,
    outputBytes: 102_400,
    compileMs: 30_000,
    cpuTimeMs: 600_000,
  });
});

test("what is over the cap or under the least is clamped", () => {
  const huge = {
    wallMs: 1e10,
    memoryBytes: 1e15,
    cpuMillis: 1e6,
    processes: 1e6,
    outputBytes: 1e12,
    compileMs: 1e10,
    cpuTimeMs: 1e10,
  };
  expect(applyLimits(huge, policy)).toEqual(policy.caps);
  expect(applyLimits({ ...zero, memoryBytes: 1, processes: 1 }, policy)).toMatchObject({
    memoryBytes: 32 << 20,
    processes: 32,
  });
});

test("every negative value is named", () => {
  expect(() => applyLimits({ ...zero, wallMs: -1, cpuMillis: -5 }, policy)).toThrow(
    /limits\.wall_time.*limits\.cpu_millis/,
  );
});
