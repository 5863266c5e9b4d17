import { expect, test } from "vitest";
import { byteSize, counted } from "./quantities.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1023, "1023 bytes"],
  [1536, "1.5 KiB"],
  [512 * 1024 ** 2, "512 MiB"],
  [1024 ** 2 + 1, "1048577 bytes"],
])("%s bytes are %s", (bytes, text) => {
  expect(byteSize(bytes)).toBe(text);
});

test("one of a thing is no plural", () => {
  expect([0, 1, 2].map((count) => counted(count, "run"))).toEqual(["0 runs", "1 run", "2 runs"]);
});
