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

test("sizes over the cap are clamped, and what is under the least is raised", () => {
  const { wallMs, compileMs, cpuTimeMs } = policy.caps;
  const huge = { memoryBytes: 1e15, cpuMillis: 1e6, processes: 1e6, outputBytes: 1e12 };
  expect(applyLimits({ ...huge, wallMs, compileMs, cpuTimeMs }, policy)).toEqual(policy.caps);
  expect(applyLimits({ ...zero, memoryBytes: 1, processes: 1 }, policy)).toMatchObject({
    memoryBytes: 32 << 20,
    processes: 32,
  });
});

test.each([
  ["wallMs", 600_001, "limits.wall_time", "600001 ms", "0 to 600000 ms"],
  ["compileMs", 1e10, "limits.compile_time", "10000000000 ms", "0 to 120000 ms"],
  ["cpuTimeMs", 1e10, "limits.cpu_time", "10000000000 ms", "0 to 600000 ms"],
  ["memoryBytes", 2 ** 60, "limits.memory_bytes", "1152921504606847000", "0 to 2147483648"],
])("%s of %d is refused by its field", (key, value, field, found, allowed) => {
  expect(() => applyLimits({ ...zero, [key]: value }, policy)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", violations: [{ field, found, allowed }] }),
  );
});

test("every negative value is named", () => {
  expect(() => applyLimits({ ...zero, wallMs: -1, cpuMillis: -5 }, policy)).toThrow(
    /limits\.wall_time.*limits\.cpu_millis/,
  );
});
