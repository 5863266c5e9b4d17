import { expect, test } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

test.each([
  [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
  [{ "retry-after": "2" }, 2_000],
  [{ "retry-after": "1.5" }, 1_500],
  [{ "retry-after": "Thu, 01 Jan 2026 00:00:03 GMT" }, 3_000],
  [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("reads %j", (headers, expected) => {
  expect(retryAfterMs(new Headers(headers as Record<string, string>), now)).toBe(expected);
});
