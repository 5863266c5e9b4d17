import { create } from "@bufbuild/protobuf";
import { ExecutionSchema, FileChange_Kind, Phase, Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect, test } from "vitest";
import { resultText } from "../../domain/tool-result.ts";
import { runReport } from "./run-report.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a good run: exit code, output and files", () => {
  const report = runReport(
    create(ExecutionSchema, {
      language: "python",
      verdict: Verdict.EXITED,
      exitCode: 0,
      wallTime: { seconds: 1n, nanos: 250_000_000 },
      stdout: { bytesSeen: 3n, bytesKept: 3n, head: bytes("hi\n") },
      changes: [
        { path: "out.csv", kind: FileChange_Kind.ADDED, sizeBytes: 7n },
        { path: "link", kind: FileChange_Kind.SKIPPED, skippedReason: "a symlink" },
      ],
    }),
  );
  expect(resultText(report)).toBe(
    [
      "OK: python: exit code 0, EXITED, 1.25 s",
      "--- stdout, 3 bytes",
      "hi\n",
      "--- stderr: empty",
      "--- files",
      "added /workspace/out.csv (7 bytes)",
      "NOT KEPT /workspace/link (0 bytes): a symlink",
    ].join("\n"),
  );
  expect(report.artifacts).toEqual(["/workspace/out.csv"]);
});

test("changes beyond two hundred lines are counted, those that the sandbox left out among them", () => {
  const changes = Array.from({ length: 250 }, (_, i) => ({ path: `f${i}`, kind: FileChange_Kind.ADDED }));
  const lines = (listed: typeof changes, changesOmitted: number) =>
    runReport(create(ExecutionSchema, { changes: listed, changesOmitted }))
      .text.split("\n")
      .slice(-2);
  expect(lines(changes, 4000)).toEqual(["added /workspace/f199 (0 bytes)", "and 4050 more"]);
  expect(lines(changes.slice(0, 2), 3)).toEqual(["added /workspace/f1 (0 bytes)", "and 3 more"]);
  expect(lines(changes.slice(0, 2), 0)[1]).toBe("added /workspace/f1 (0 bytes)");
});

test("a run that was ended says by what, and dropped output is counted between head and tail", () => {
  const report = runReport(
    create(ExecutionSchema, {
      language: "bash",
      verdict: Verdict.TIMEOUT_WALL,
      message: "Stopped after 30 s.",
      stdout: { bytesSeen: 1000n, bytesKept: 8n, head: bytes("head"), tail: bytes("tail"), bytesDropped: 992n },
    }),
  );
  expect(report).toMatchObject({ ok: false, errorCode: "TIMEOUT_WALL", retryable: false });
  expect(report.summary).toBe("bash: no exit code, TIMEOUT_WALL, 0.00 s. Stopped after 30 s.");
  expect(report.text).toContain("head\n[992 bytes of 1000 were dropped here: over the output limit]\ntail");
});

test("what does not compile is told with what the compiler wrote, and nothing of a program", () => {
  const stderr = { bytesSeen: 6n, bytesKept: 6n, head: bytes("error\n") };
  const compile = { exitCode: 1, stderr, wallTime: { seconds: 0n, nanos: 500_000_000 } };
  const report = runReport(
    create(ExecutionSchema, { language: "c", verdict: Verdict.EXITED, exitCode: 1, phase: Phase.COMPILE, compile }),
  );
  expect(report).toMatchObject({ ok: false, errorCode: "COMPILE_ERROR" });
  expect(report.summary).toBe("c: exit code 1 of the compiler, EXITED, 0.50 s");
  expect(report.text).toBe("--- compiler, 6 bytes\nerror\n");
});

test("an exit code that is not zero is an error of its own kind, and an unknown verdict does no harm", () => {
  expect(runReport(create(ExecutionSchema, { verdict: Verdict.EXITED, exitCode: 3 })).errorCode).toBe("NONZERO_EXIT");
  expect(runReport(create(ExecutionSchema, { verdict: 99 as never })).errorCode).toBe("UNKNOWN_VERDICT");
});
