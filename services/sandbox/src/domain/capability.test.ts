import { expect, test } from "vitest";
import { checkSessions, checkSupported, limitsInForce } from "./capability.ts";

const nothing = { wallMs: 0, memoryBytes: 0, cpuMillis: 0, processes: 0, outputBytes: 0, compileMs: 0, cpuTimeMs: 0 };
const all = new Set(["memory-limit", "cpu-limit", "process-limit"] as const);

test("a limit that the backend cannot enforce is refused by name where it was asked for", () => {
  expect(() => checkSupported({ ...nothing, memoryBytes: 1 }, "local", new Set())).toThrow(
    expect.objectContaining({ code: "UNIMPLEMENTED", reason: "UNSUPPORTED" }),
  );
  expect(() => checkSupported({ ...nothing, processes: 5 }, "kubernetes", new Set(["memory-limit"]))).toThrow(
    /limits\.processes: the backend kubernetes has no process-limit/,
  );
  checkSupported({ ...nothing, wallMs: 5, outputBytes: 5 }, "local", new Set());
  checkSupported({ ...nothing, memoryBytes: 1, cpuMillis: 1, processes: 1 }, "docker", all);
});

test("sessions of a backend that has none are refused with the backend and the capability", () => {
  expect(() => checkSessions("local", all)).toThrow(
    expect.objectContaining({
      code: "UNIMPLEMENTED",
      reason: "UNSUPPORTED",
      metadata: { backend: "local", capability: "sessions" },
    }),
  );
  checkSessions("docker", new Set(["sessions"]));
});

test("no record claims a limit that is not in force", () => {
  const limits = { wallMs: 1, memoryBytes: 2, cpuMillis: 3, processes: 4, outputBytes: 5, compileMs: 6, cpuTimeMs: 7 };
  expect(limitsInForce(limits, all)).toEqual(limits);
  expect(limitsInForce(limits, new Set())).toEqual({
    ...nothing,
    wallMs: 1,
    outputBytes: 5,
    compileMs: 6,
  });
});
