import { expect, test } from "vitest";
import { spillName } from "./spill-name.ts";

test.each([
  ["spill://01a22e97-adc8-7001-bd1d-150b8cfae7b8/01a22e97-ae66-7002-9923-a59282cde7ea", "spill e7b8/e7ea"],
  ["spill://7f3a/8c1e", "spill 7f3a/8c1e"],
  ["spill://one", "spill://one"],
  ["spill://a/b\u001b[31m", "spill://a/b\u001b[31m"],
  ["", ""],
])("%j is called %j", (pointer, name) => {
  expect(spillName(pointer)).toBe(name);
});
