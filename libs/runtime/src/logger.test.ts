import { DroverError } from "@drover/kernel";
import { expect, test } from "vitest";
import { createLogger } from "./logger.ts";

function recorder() {
  const lines: string[] = [];
  const logger = createLogger({
    service: "test",
    level: "debug",
    destination: { write: (line) => void lines.push(line) },
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? "{}") };
}

test("a line is one JSON object with service, level and time", () => {
  const { logger, last, lines } = recorder();
  logger.child({ trace_id: "abc" }).info({ n: 1 }, "hello\nworld");
  expect(lines).toHaveLength(1);
  expect(last()).toMatchObject({ service: "test", level: "info", message: "hello\nworld", n: 1, trace_id: "abc" });
  expect(Date.parse(last().time)).not.toBeNaN();
});

test("levels below the chosen one are not written", () => {
  const lines: string[] = [];
  const logger = createLogger({
    service: "test",
    level: "warn",
    destination: { write: (line) => void lines.push(line) },
  });
  logger.info("no");
  logger.warn("yes");
  expect(lines).toHaveLength(1);
});

test("secrets are masked in messages, fields, nested errors and child bindings", () => {
  const { logger, lines } = recorder();
  const canary = "sk-canary0123456789abcdefABCDEF0123456789";
  const cause = new Error(`connect failed: postgres://app:${canary}@db/x`);
  logger.info({ nested: { list: [`Bearer ${canary}`] } }, `the key is ${canary}`);
  logger.error({ err: new DroverError("INTERNAL", "Internal error.", { cause }) }, "failed");
  logger.child({ note: canary }).warn("child");
  logger.info({ authorization: "plain-word", api_key: "other", password: "third", tokens: 12 }, "by name");
  const written = lines.join("");
  for (const secret of [canary, "plain-word", "other", "third"]) expect(written).not.toContain(secret);
  expect(written).toContain("INTERNAL");
  expect(JSON.parse(lines.at(-1) ?? "").tokens).toBe(12);
});

test("odd values are written, never thrown", () => {
  const { logger, last } = recorder();
  const cycle: Record<string, unknown> = { big: 10n, bytes: new Uint8Array(9), when: new Date(Number.NaN) };
  cycle.self = cycle;
  logger.info({ cycle, text: "x".repeat(100_000) }, "odd");
  expect(last().cycle).toEqual({ big: "10", bytes: "[9 bytes]", when: "[invalid date]", self: "[cut]" });
  expect(last().text.length).toBeLessThan(9000);
});
