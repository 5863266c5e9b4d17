import { expect, test } from "vitest";
import { hasModelEndpoint } from "./model-choice.ts";

test.each([
  [{}, false],
  [{ OPENAI_BASE_URL: "", OPENAI_API_KEY: "" }, false],
  [{ OPENAI_API_KEY: "k" }, false],
  [{ OPENAI_BASE_URL: "http://h/v1", OPENAI_API_KEY: "k" }, true],
])("%j names an endpoint: %s", (environment, expected) => {
  expect(hasModelEndpoint(environment)).toBe(expected);
});

test("an endpoint without a key is refused rather than passed over", () => {
  expect(() => hasModelEndpoint({ OPENAI_BASE_URL: "http://h/v1" })).toThrow("OPENAI_API_KEY is not");
});
