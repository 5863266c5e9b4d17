import fc from "fast-check";
import { expect, test } from "vitest";
import { needsSpill, outcomeOf, resultText, sound, type ToolResult, toolFailure, viewOf } from "./tool-result.ts";

const limits = { spillThreshold: 32_000, preview: 2_048, viewCap: 8_000 };
const ok = { ok: true, errorCode: "", summary: "exit code 0", text: "hello", artifacts: [], retryable: false };

test("the text begins with one line that says how it went", () => {
  expect(resultText(ok)).toBe("OK: exit code 0\nhello");
  expect(resultText(toolFailure("TIMEOUT", "too slow", "", true))).toBe(
    "ERROR TIMEOUT: too slow The same call may work later.",
  );
});

test("what is no result becomes one, and what is one keeps its words", () => {
  expect(sound("t", ok)).toEqual(ok);
  const odd: readonly unknown[] = [undefined, null, "text", [], { ...ok, text: 1 }, { ...ok, artifacts: [7] }];
  for (const value of odd) expect(sound("t", value)).toMatchObject({ ok: false, errorCode: "TOOL_MISBEHAVED" });
  expect(sound("t", { ...ok, ok: false, errorCode: "not a code" }).errorCode).toBe("TOOL_MISBEHAVED");
  const long = sound("t", { ...ok, text: "x".repeat(16_000_003) });
  expect(long.text.slice(-40)).toMatch(/x\n\[3 characters more were not kept\.\]$/);
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const made: ToolResult = sound("t", value);
      expect(resultText(made)).toMatch(/^(OK|ERROR [A-Z0-9_]+): /);
    }),
  );
});

test("outcomes", () => {
  expect(outcomeOf(ok)).toBe("SUCCEEDED");
  expect(outcomeOf(toolFailure("BAD_ARGUMENTS", "x"))).toBe("FAILED");
  expect(outcomeOf(toolFailure("OUTCOME_UNKNOWN", "x"))).toBe("UNKNOWN");
  expect(outcomeOf(toolFailure("CANCELLED", "x"))).toBe("CANCELLED");
});

test("the view is whole up to the cap, capped up to the threshold, a preview beyond", () => {
  expect(viewOf("x".repeat(8_000), "", limits)).toEqual({ shown: "x".repeat(8_000), shownCharacters: 8_000 });
  expect(viewOf("x".repeat(8_001), "spill://a", limits).shownCharacters).toBe(8_000);
  expect(viewOf("x".repeat(32_000), "spill://a", limits).shownCharacters).toBe(8_000);
  expect(viewOf("x".repeat(32_001), "spill://a", limits).shownCharacters).toBe(2_048);
});

test("a cut view names the sizes, the pointer and the tool; a lost rest is admitted", () => {
  const { shown } = viewOf("y".repeat(40_000), "spill://a/b", limits);
  expect(shown).toContain("first 2048 of 40000 characters");
  expect(shown).toContain('read_spill {"pointer": "spill://a/b", "offset": 2048}');
  expect(viewOf("y".repeat(40_000), "", limits).shown).toContain("could not be stored");
});

test("a view is a prefix, never longer than the cap and a line, and never cuts a character in two", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.integer({ min: 2, max: 20 }), (text, cap) => {
      const view = viewOf(text, "spill://p", { spillThreshold: 40, preview: 2, viewCap: cap });
      expect(text.startsWith(view.shown.slice(0, view.shownCharacters))).toBe(true);
      expect(view.shownCharacters).toBeLessThanOrEqual(Math.max(cap, 2));
      expect(view.shownCharacters < text.length).toBe(
        needsSpill(text, { spillThreshold: 40, preview: 2, viewCap: cap }),
      );
      if (text.isWellFormed()) expect(view.shown.isWellFormed()).toBe(true);
    }),
  );
});
