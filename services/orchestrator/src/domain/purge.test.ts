import fc from "fast-check";
import { expect, test } from "vitest";
import { checkPurge, type PurgeProgress, stepAfter, stepAfterFailure } from "./purge.ts";

function fieldsOf(requestId: string, subject: Parameters<typeof checkPurge>[1]): string[] {
  try {
    checkPurge(requestId, subject);
    return [];
  } catch (error) {
    return (error as { violations: { field: string }[] }).violations.map(({ field }) => field);
  }
}

test("every fault of a removal is named at once", () => {
  expect(fieldsOf("", { kind: "tenant", subject: "" })).toEqual([]);
  expect(fieldsOf("r", { kind: "user", subject: "alice" })).toEqual([]);
  expect(fieldsOf("r".repeat(65), undefined)).toEqual(["request_id", "subject"]);
  expect(fieldsOf("", { kind: "conversation", subject: "mine" })).toEqual(["conversation_id"]);
  expect(fieldsOf("", { kind: "user", subject: "" })).toEqual(["user"]);
  expect(fieldsOf("", { kind: "user", subject: "x".repeat(257) })).toEqual(["user"]);
});

const part: PurgeProgress = {
  ...{ service: "memory", done: false, removed: 9, problem: "", passes: 0, found: 0, position: undefined, failures: 0 },
};
const lastPage = { position: "b", last: true };

test("a part that fails waits a second, then ever longer, never more than five minutes, and stays where it was", () => {
  const waits = [0, 1, 2, 8, 9, 10_000].map((failures) => stepAfterFailure({ ...part, failures }, "down").waitMs);
  expect(waits).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
  expect(stepAfterFailure({ ...part, position: "a", found: 3 }, "down")).toMatchObject({
    ...{ position: "a", found: 3, removed: 0, problem: "down", failures: 1, done: false },
  });
});

test("a page is asked for again while there is more of it, then comes the next", () => {
  const page = { position: "a", last: false };
  const again = stepAfter(part, { removed: 5, more: true }, page, 70);
  expect(again).toMatchObject({ position: undefined, found: 5, removed: 5, waitMs: 0, done: false });
  const next = stepAfter({ ...part, ...again }, { removed: 1, more: false }, page, 70);
  expect(next).toMatchObject({ position: "a", found: 6, removed: 1, waitMs: 0, done: false, passes: 0 });
});

test("what still runs in a service is waited for", () => {
  const step = stepAfter({ ...part, failures: 3 }, { removed: 0, more: true }, lastPage, 70);
  expect(step).toMatchObject({ waitMs: 1_000, done: false, failures: 3 });
  expect(step.problem).not.toBe("");
});

test("a service is done when a pass finds nothing more, and after three in any case", () => {
  const end = (passes: number, found: number) =>
    stepAfter({ ...part, passes, found }, { removed: 0, more: false }, lastPage, 70);
  expect(end(0, 0)).toMatchObject({ done: true, waitMs: 0 });
  expect(end(0, 5)).toMatchObject({ done: false, waitMs: 70, passes: 1, found: 0, position: undefined });
  expect(end(1, 1)).toMatchObject({ done: false, passes: 2 });
  expect(end(2, 1)).toMatchObject({ done: true, passes: 3 });
});

test("a service that failed is asked once more, because what came while it was away may reach it only now", () => {
  const answer = { removed: 0, more: false };
  const back = stepAfter({ ...part, failures: 2 }, answer, { position: "a", last: false }, 70);
  expect(back.failures).toBe(2);
  const ended = stepAfter(back, answer, lastPage, 70);
  expect(ended).toMatchObject({ done: false, waitMs: 70, passes: 1, failures: 0 });
  expect(stepAfter(ended, answer, lastPage, 70)).toMatchObject({ done: true });
});

test("a part goes on for as long as its service finds something, but never for ever", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3 }), { minLength: 4, maxLength: 12 }), (finds) => {
      let now = part;
      for (const removed of finds) {
        const step = stepAfter(now, { removed, more: false }, lastPage, 1);
        expect(step.done).toBe(removed === 0 || step.passes === 3);
        if (step.done) return;
        now = { ...now, ...step };
      }
      throw new Error("it never ended");
    }),
  );
});
