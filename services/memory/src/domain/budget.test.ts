import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { usableTokens } from "./budget.ts";

const defaults = { reservedOutputTokens: 8000, safetyMarginTokens: 3000 };

describe("usableTokens", () => {
  it.each([
    [128_000, 128_000 - 8000 - 3840],
    [32_000, 32_000 - 8000 - 3000],
    [8000, 8000 - 2000 - 800],
    [1_000_000, 1_000_000 - 8000 - 30_000],
    [0, 0],
  ])("leaves of a window of %i tokens %i", (windowTokens, usable) => {
    expect(usableTokens({ ...defaults, windowTokens })).toBe(usable);
  });

  it("is positive and below the window for every window, whatever is reserved", () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 10_000_000 }), fc.nat(), fc.nat(), (windowTokens, reserved, margin) => {
        const usable = usableTokens({ windowTokens, reservedOutputTokens: reserved, safetyMarginTokens: margin });
        expect(usable).toBeGreaterThanOrEqual(Math.floor(windowTokens * 0.65));
        expect(usable).toBeLessThan(windowTokens);
      }),
    );
  });
});
