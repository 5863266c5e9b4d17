import { expect, test } from "vitest";
import { isId, newId } from "./ids.ts";

test("ids are UUIDv7 with the time in front", () => {
  const id = newId(Date.parse("2100-01-01T00:00:00Z"));
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.parse("2100-01-01T00:00:00Z"));
  expect(isId(id)).toBe(true);
});

test("ids made in one process sort in the order they were made, also when the clock goes back", () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => newId(4_200_000_000_000 - i));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(["", "x", "0192F3A1-0000-7000-8000-000000000000", "0192f3a1-0000-7000-8000-00000000000"])(
  "%j is no id",
  (text) => expect(isId(text)).toBe(false),
);
