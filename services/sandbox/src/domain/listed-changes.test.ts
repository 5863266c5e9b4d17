import fc from "fast-check";
import { expect, test } from "vitest";
import type { ChangeOutcome } from "./change-set.ts";
import { listedChanges } from "./listed-changes.ts";

const change = (path: string, kind: ChangeOutcome["kind"] = "ADDED"): ChangeOutcome => ({
  path,
  kind,
  size: 1,
  reason: "",
});

test("a run that changes five thousand files with long paths lists what was not taken over, and counts the rest", () => {
  const many = Array.from({ length: 4900 }, (_, i) => change(`${i}/${"x".repeat(900)}`));
  const conflict = change("c", "CONFLICT");
  const skipped = change("s", "SKIPPED");
  const { changes, changesOmitted } = listedChanges([...many, skipped, conflict]);
  expect(changes.slice(-2)).toEqual([skipped, conflict]);
  expect(changes.length + changesOmitted).toBe(4902);
  expect(changes.slice(0, -2)).toEqual(many.slice(0, changes.length - 2));
  expect(JSON.stringify(changes).length).toBeLessThan(400_000);
});

test("few changes are all listed, and listing twice is listing once", () => {
  const lists = fc.array(
    fc.record({
      path: fc.string({ maxLength: 20 }).map((text) => text.repeat(1000)),
      kind: fc.constantFrom<ChangeOutcome["kind"]>("ADDED", "DELETED", "SKIPPED", "CONFLICT"),
      size: fc.nat(),
      reason: fc.string(),
    }),
  );
  const cases = fc.property(lists, fc.nat(9), (changes, omitted) => {
    const once = listedChanges(changes, omitted);
    expect(once.changes.length + once.changesOmitted).toBe(changes.length + omitted);
    expect(listedChanges(once.changes, once.changesOmitted)).toEqual(once);
    if (JSON.stringify(changes).length < 100_000) expect(once.changes).toEqual(changes);
  });
  fc.assert(cases);
});
