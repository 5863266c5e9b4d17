import { expect, test } from "vitest";
import { DroverError } from "./errors.ts";
import { decodePageToken, encodePageToken, pageSize } from "./page-token.ts";

test("a token gives back its position on its own list only", () => {
  const token = encodePageToken("tasks:RUNNING", ["2026-11-30", "世界/é"]);
  expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(decodePageToken("tasks:RUNNING", token)).toEqual(["2026-11-30", "世界/é"]);
  expect(() => decodePageToken("tasks:FAILED", token)).toThrow(DroverError);
});

test("the empty token is the first page", () => expect(decodePageToken("tasks", "")).toBeUndefined());

test.each(["x", "!!", "e30", btoa("[1]"), btoa('[2,"tasks"]'), btoa('[1,"tasks",3]')])("%j is refused", (token) => {
  expect(() => decodePageToken("tasks", token)).toThrow(/page_token/);
});

test("page sizes: zero is the default, too much is clamped, less than zero is refused", () => {
  expect([pageSize(0), pageSize(7), pageSize(9_999)]).toEqual([50, 7, 500]);
  expect(() => pageSize(-1)).toThrow(/page_size: found -1/);
});
