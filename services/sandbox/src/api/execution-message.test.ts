import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { pageSize } from "@drover/kernel";
import {
  ListExecutionsResponseSchema,
  ReadResponseSchema,
  RunResponseSchema,
} from "@drover/proto/sandbox/v1/exec_service";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ChangeOutcome } from "../domain/change-set.ts";
import { type Execution, emptyResult, noTimes } from "../domain/execution.ts";
import { defaultLimitPolicy } from "../domain/limits.ts";
import type { OutputFacts } from "../domain/output-cap.ts";
import { outcomeOf } from "../domain/verdict.ts";
import { executionMessage, listedMessage, outlineMessage } from "./execution-message.ts";

const mostBytes = 4 * 1024 ** 2;
const id = "01900000-0000-7000-8000-000000000001";
const lost = {
  ...outcomeOf({ killedBy: "", oomSeen: false, wallLimitMs: 0, lost: "ü".repeat(9000) }),
  signal: "SIGKILL",
};
const usage = { wallMs: 1e9, cpuMs: 1e9, peakMemoryBytes: 2 ** 50 };

/** An execution that is as large as one can be. */
function largest(streams: readonly OutputFacts[], changes: readonly ChangeOutcome[] = []): Execution {
  const [stdout, stderr, first, second] = streams;
  if (stdout === undefined || stderr === undefined || first === undefined || second === undefined)
    throw new Error("four");
  return {
    id,
    tenant: "acme",
    callId: id,
    taskId: "t".repeat(64),
    language: "l".repeat(32),
    image: "i".repeat(512),
    runtime: "r".repeat(64),
    limits: defaultLimitPolicy.caps,
    workspaceId: id,
    workspaceVersionBefore: 2 ** 50,
    acceptedAt: new Date(),
    startedAt: new Date(),
    endedAt: new Date(),
    result: {
      ...emptyResult(lost),
      stdout,
      stderr,
      usage,
      compile: { exitCode: 1, signal: "SIGKILL", stdout: first, stderr: second, usage },
      workspaceVersionAfter: 2 ** 50,
      changes,
      times: { ...noTimes, queue: 1e9 + 0.1, start: 1e9 + 0.1 },
      imageDigest: `sha256:${"0".repeat(64)}`,
      policyVersion: "v".repeat(64),
    },
  };
}

const facts = (head: number, tail: number, dropped: number): OutputFacts => ({
  seen: head + tail + dropped,
  head: new Uint8Array(head).fill(104),
  tail: new Uint8Array(tail).fill(116),
  dropped,
});

test("the largest execution fits into an answer with as much of its streams as there is room for", () => {
  const changes = Array.from({ length: 5000 }, (_, i) => ({
    path: `${i}/${"x".repeat(1000)}`,
    kind: "ADDED" as const,
    size: 2 ** 40,
    reason: "",
  }));
  const sizes = fc.nat(750_000);
  const stream = fc.tuple(sizes, sizes, fc.constantFrom(0, 5)).map((args) => facts(...args));
  const cases = fc.property(fc.array(stream, { minLength: 4, maxLength: 4 }), (streams) => {
    const execution = executionMessage(largest(streams, changes));
    const event = { case: "ended" as const, value: { execution } };
    const bytes = sizeOf(RunResponseSchema, { sequence: 2n ** 62n, event });
    expect(bytes).toBeLessThanOrEqual(mostBytes);
    const told = [execution.stdout, execution.stderr, execution.compile?.stdout, execution.compile?.stderr];
    const whole = streams.every(({ head, tail }, i) => BigInt(head.length + tail.length) === told[i]?.bytesKept);
    if (!whole) expect(bytes).toBeGreaterThan(mostBytes - 64 * 1024);
    for (const [i, { seen, head, tail, dropped }] of streams.entries()) {
      const found = told[i];
      if (found === undefined) return expect.unreachable("A stream is missing.");
      expect(Buffer.compare(found.head, head.subarray(0, found.head.length))).toBe(0);
      expect(Buffer.compare(found.tail, tail.subarray(tail.length - found.tail.length))).toBe(0);
      expect(Number(found.bytesKept + found.bytesDropped)).toBe(seen);
      expect(found.bytesDropped >= BigInt(dropped)).toBe(true);
    }
    expect(execution.changesTotal).toBe(5000);
    expect(execution.changesOmitted).toBe(5000 - execution.changes.length);
    expect(execution.changes.length).toBeGreaterThan(200);
  });
  fc.assert(cases, { numRuns: 8 });
});

test("a list has room for as many executions as a page may have", () => {
  const streams = [1, 2, 3, 4].map(() => facts(9, 9, 2 ** 40));
  const changes = Array.from({ length: 5000 }, (_, i) => ({
    path: `${i}`,
    kind: "ADDED" as const,
    size: 1,
    reason: "",
  }));
  const outline = listedMessage(largest(streams, changes));
  expect(outline).toMatchObject({ changes: [], changesTotal: 5000, changesOmitted: 5000 });
  expect(outline.compile?.stdout).toMatchObject({
    bytesKept: 18n,
    bytesDropped: BigInt(2 ** 40),
    head: new Uint8Array(),
  });
  const executions = Array.from({ length: pageSize(2 ** 31 - 1) }, () => outline);
  expect(sizeOf(ListExecutionsResponseSchema, { executions, nextPageToken: "x".repeat(500) })).toBeLessThan(mostBytes);
});

test("a piece of both streams fits beside its execution", () => {
  const changes = Array.from({ length: 5000 }, (_, i) => ({
    path: `${i}/${"x".repeat(1000)}`,
    kind: "ADDED" as const,
    size: 1,
    reason: "",
  }));
  const execution = outlineMessage(
    largest(
      [1, 2, 3, 4].map(() => facts(700_000, 700_000, 1)),
      changes,
    ),
  );
  const chunk = { offset: 2n ** 62n, data: new Uint8Array(1_000_000), nextOffset: 2n ** 62n, bytesSeen: 2n ** 62n };
  expect(sizeOf(ReadResponseSchema, { execution, stdout: chunk, stderr: chunk })).toBeLessThan(mostBytes);
});

function sizeOf<D extends DescMessage>(schema: D, init: MessageInitShape<D>): number {
  return toBinary(schema, create(schema, init)).length;
}
