import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { countMessage, countMessages, countTokens, countTools } from "./tokens.ts";

test.each([
  ["", 0],
  ["hello world", 2],
  ["你好，世界", 3],
  [`${"word ".repeat(400)}\n\n    indented {"a":1}`, undefined],
])("counts %j as the tokenizer does", (text, expected) => {
  expect(countTokens(text)).toBe(expected ?? encode(text).length);
});

test("a special token in a text is text", () => {
  expect(countTokens("<|endoftext|>")).toBeGreaterThan(3);
});

test.each([
  ["Chinese without punctuation", "支付网关捕获超时重试回调签名不匹配".repeat(12_000)],
  ["one letter", "a".repeat(500_000)],
  ["symbols and line ends", "/\n".repeat(250_000)],
  ["spaces", " ".repeat(500_000)],
  ["marks", `e${"\u0301".repeat(500_000)}`],
  ["surrogates", "\u{20000}".repeat(250_000)],
])(
  "counts a long run of %s in linear time",
  (_, text) => expect(countTokens(text)).toBeGreaterThan(0),
  // A merge loop over the whole run is quadratic and would take many minutes.
  60_000,
);

test("a cut run is counted within one percent", () => {
  const text = "支付网关捕获超时重试回调签名不匹配".repeat(120);
  expect(Math.abs(countTokens(text) / encode(text).length - 1)).toBeLessThan(0.01);
});

test("messages and tools cost their text and their frame", () => {
  const call = { callId: "c", providerCallId: "p", name: "grep", argumentsJson: '{"pattern":"x"}' };
  const plain = countMessage({ role: "assistant", text: "ok", toolCalls: [] });
  expect(plain).toBe(5);
  expect(countMessage({ role: "assistant", text: "ok", toolCalls: [call] })).toBeGreaterThan(plain + 10);
  expect(countMessages([])).toBe(3);
  expect(countTools([])).toBe(0);
  expect(countTools([{ name: "grep", description: "Searches.", parameters: {} }])).toBeGreaterThan(20);
});
