import { expect, test } from "vitest";
import { RunControl } from "./run-control.ts";

test("time that is used up stops the work once to answer and once for good", () => {
  const control = new RunControl();
  control.limitWall(10_000);
  control.spend(7_499);
  expect(control.stopped).toBeUndefined();
  control.spend(7_500);
  expect([control.stopped, control.signal.aborted]).toEqual(["BUDGET_EXHAUSTED", true]);
  expect(control.answerNow()).toBe(7_500);
  control.spend(9_900);
  expect([control.stopped, control.signal.aborted]).toEqual([undefined, false]);
  control.spend(10_000);
  expect([control.stopped, control.signal.aborted]).toEqual(["BUDGET_EXHAUSTED", true]);
});

test("without a limit no time is too long", () => {
  const control = new RunControl();
  control.spend(1e12);
  expect(control.stopped).toBeUndefined();
});

test.each([
  ["a cancel", "TASK_CANCELLED", (control: RunControl) => control.cancel()],
  ["a lost lease", "LEASE_LOST", (control: RunControl) => control.loseLease()],
  ["a hard drain", "DRAINING", (control: RunControl) => control.drainNow()],
] as const)("%s overrules time that is used up", (_, reason, stop) => {
  const control = new RunControl();
  control.limitWall(10);
  control.spend(10);
  stop(control);
  expect(control.stopped).toBe(reason);
});
