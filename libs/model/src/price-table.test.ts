import { expect, test } from "vitest";
import { costNanoUsd } from "./price-table.ts";
import { addUsage, noUsage } from "./usage.ts";

const usage = { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 400, reasoningTokens: 50, estimated: false };

test("cached tokens are cheaper and reasoning is part of the output", () => {
  expect(costNanoUsd("gpt-4o", usage)).toBe(600 * 2_500 + 400 * 1_250 + 100 * 10_000);
  expect(costNanoUsd("gpt-4o-2024-11-20", usage)).toBe(costNanoUsd("gpt-4o", usage));
});

test.each(["my-own-model", "toString", ""])("the cost of %j is unknown, not zero", (model) => {
  expect(costNanoUsd(model, usage)).toBeUndefined();
});

test("usages add up and stay marked as estimated", () => {
  expect(addUsage(noUsage, usage)).toEqual(usage);
  expect(addUsage(usage, { ...usage, estimated: true })).toMatchObject({ inputTokens: 2_000, estimated: true });
});
