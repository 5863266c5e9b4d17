import fc from "fast-check";
import { expect, test } from "vitest";
import { canTransition, isTerminal, taskStates, taskTransitions } from "./task-state.ts";

const state = fc.constantFrom(...taskStates);

test("exactly SUCCEEDED, FAILED and CANCELLED are terminal", () => {
  expect(taskStates.filter(isTerminal)).toEqual(["SUCCEEDED", "FAILED", "CANCELLED"]);
});

test("a walk along legal transitions leaves a terminal state by a resume alone, and SUCCEEDED never", () => {
  fc.assert(
    fc.property(fc.array(state, { maxLength: 40 }), (wishes) => {
      let at = taskStates[0] as (typeof taskStates)[number];
      for (const wish of wishes) {
        if (!canTransition(at, wish)) continue;
        if (isTerminal(at)) expect([at, wish]).toEqual([at === "SUCCEEDED" ? "none" : at, "RUNNING"]);
        at = wish;
      }
    }),
  );
});

test("every live state can fail and be cancelled, and none follows itself", () => {
  for (const from of taskStates.filter((s) => !isTerminal(s))) {
    expect(canTransition(from, "FAILED")).toBe(true);
    expect(canTransition(from, "CANCELLED")).toBe(true);
    expect(canTransition(from, from)).toBe(false);
  }
});

test("success is reached through verification only, and nothing goes back to CREATED", () => {
  expect(taskStates.filter((from) => canTransition(from, "SUCCEEDED"))).toEqual(["VERIFYING"]);
  expect(taskStates.filter((from) => canTransition(from, "CREATED"))).toEqual([]);
});

test("the table is frozen", () => {
  expect(Object.isFrozen(taskTransitions)).toBe(true);
  for (const next of Object.values(taskTransitions)) expect(Object.isFrozen(next)).toBe(true);
});
