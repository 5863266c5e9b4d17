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
  [{ "retry-after": "2", "x-ratelimit-reset-requests": "9s" }, 2_000],
  [{ "x-ratelimit-reset-requests": "1h1m1.5s" }, 3_661_500],
  [{ "x-ratelimit-reset-tokens": "250ms", "x-ratelimit-reset-requests": "6m0s" }, 360_000],
  [
    {
      "x-ratelimit-reset-tokens": "2s",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-requests": "6m0s",
      "x-ratelimit-remaining-requests": "12",
    },
    2_000,
  ],
  [{ "x-ratelimit-reset-tokens": "7.5" }, 7_500],
  [{ "x-ratelimit-reset-tokens": "soon" }, undefined],
  [{ "x-ratelimit-reset-tokens": "1y" }, undefined],
  [{}, undefined],
])("reads %j", (headers, expected) => {
  expect(retryAfterMs(new Headers(headers as Record<string, string>), now)).toBe(expected);
});
