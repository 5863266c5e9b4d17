import fc from "fast-check";
import { expect, test } from "vitest";
import {
  allowanceFor,
  callsLeft,
  exhausted,
  exhaustedText,
  type Spender,
  smallestAnswer,
  workingMs,
} from "./budget.ts";

const unspent: Spender = {
  round: 0,
  maxRounds: 10,
  budgets: { wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 },
  wallMsUsed: 0,
  toolCallsUsed: 0,
  usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: 0 },
};
const limited = (budgets: Partial<Spender["budgets"]>, rest: Partial<Spender> = {}): Spender => ({
  ...unspent,
  ...rest,
  budgets: { ...unspent.budgets, ...budgets },
});
const used = (inputTokens: number, outputTokens: number, costNanoUsd: number | null = 0) => ({
  usage: { ...unspent.usage, inputTokens, outputTokens, costNanoUsd },
});

test.each([
  ["nothing is limited", unspent, undefined],
  ["rounds", { ...unspent, round: 10 }, "ROUNDS"],
  ["wall time, less what an answer needs", limited({ wallMs: 10_000 }, { wallMsUsed: 7_500 }), "WALL_TIME"],
  ["wall time is left", limited({ wallMs: 10_000 }, { wallMsUsed: 7_499 }), undefined],
  ["tokens of both kinds", limited({ tokens: 100 }, used(60, 40)), "TOKENS"],
  ["money", limited({ costNanoUsd: 7 }, used(0, 0, 7)), "COST"],
  ["tool calls", limited({ toolCalls: 2 }, { toolCallsUsed: 2 }), "TOOL_CALLS"],
] as const)("used up: %s", (_, task, limit) => expect(exhausted(task)).toBe(limit));

test("a call that nothing limits gets what it wants", () => {
  const call = { promptTokens: 1e6, wanted: 4_096, price: undefined };
  expect(allowanceFor(unspent, call, undefined)).toEqual({ kind: "round", outputTokens: 4_096 });
  expect(allowanceFor(unspent, call, "ROUNDS")).toEqual({ kind: "last", limit: "ROUNDS", outputTokens: 4_096 });
});

test("less is left, less may be said; then only an answer; then nothing", () => {
  const call = { promptTokens: 100, wanted: 4_096, price: undefined };
  const kinds = [2_000, 500, 170, 160].map((tokens) => allowanceFor(limited({ tokens }), call, undefined));
  expect(kinds).toEqual([
    { kind: "round", outputTokens: 836 },
    { kind: "round", outputTokens: 86 },
    { kind: "last", limit: "TOKENS", outputTokens: 70 },
    { kind: "none", limit: "TOKENS" },
  ]);
});

test("money that cannot be counted is not spent", () => {
  const call = { promptTokens: 10, wanted: 100, price: undefined };
  expect(allowanceFor(limited({ costNanoUsd: 1e9 }), call, undefined)).toEqual({ kind: "none", limit: "COST" });
  const priced = { ...call, price: { input: 2_000, output: 8_000 } };
  expect(allowanceFor(limited({ costNanoUsd: 1e9 }, used(1, 1, null)), priced, undefined).kind).toBe("none");
});

test("whatever is asked and used, no call at its longest goes over a budget, and after a round an answer is affordable", () => {
  const amount = fc.integer({ min: 1, max: 2_000_000 });
  fc.assert(
    fc.property(amount, amount, fc.nat(50_000), fc.nat(50_000), amount, (tokens, money, prompt, spent, wanted) => {
      const task = limited({ tokens, costNanoUsd: money * 1_000 }, used(spent, 0, spent * 400));
      const price = { input: 400, output: 1_600 };
      const allowed = allowanceFor(task, { promptTokens: prompt, wanted, price }, undefined);
      if (allowed.kind === "none") return;
      const after = spent + prompt + allowed.outputTokens;
      const costAfter = (spent + prompt) * 400 + allowed.outputTokens * 1_600;
      expect(after).toBeLessThanOrEqual(tokens);
      expect(costAfter).toBeLessThanOrEqual(money * 1_000);
      expect(allowed.outputTokens).toBeGreaterThanOrEqual(Math.min(smallestAnswer, wanted));
      if (allowed.kind === "last") return;
      const next = used(spent + prompt, allowed.outputTokens, costAfter);
      const grown = { promptTokens: prompt + allowed.outputTokens, wanted, price };
      const budgets = { tokens, costNanoUsd: money * 1_000 };
      expect(allowanceFor(limited(budgets, next), grown, "ROUNDS").kind).toBe("last");
    }),
  );
});

test("calls that are left, the time to work, and the words", () => {
  expect([callsLeft(unspent), callsLeft(limited({ toolCalls: 3 }, { toolCallsUsed: 1 }))]).toEqual([
    Number.POSITIVE_INFINITY,
    2,
  ]);
  expect([0, 10_000, 3_600_000].map(workingMs)).toEqual([0, 7_500, 3_570_000]);
  expect(exhaustedText({ ...unspent, maxRounds: 1 }, "ROUNDS")).toBe("the limit of 1 round");
  expect(exhaustedText(limited({ costNanoUsd: 25_000_000 }), "COST")).toBe("the limit of 0.025 USD");
  expect(exhaustedText(limited({ costNanoUsd: 1 }), "COST")).toBe("the limit of 0.000000001 USD");
  expect(exhaustedText(limited({ costNanoUsd: 2_000_000_000 }), "COST")).toBe("the limit of 2 USD");
  expect(exhaustedText(limited({ tokens: 1 }), "TOKENS")).toBe("the limit of 1 token");
});
