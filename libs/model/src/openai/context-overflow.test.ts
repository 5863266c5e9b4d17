import { expect, test } from "vitest";
import { isContextOverflow } from "./context-overflow.ts";

test.each([
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
  "The input (200000 tokens) is longer than the model's maximum context length (131072).",
  "litellm.ContextWindowExceededError: prompt is too long: 210000 tokens > 200000 maximum",
  "the request exceeds the available context size, try increasing it",
  "Context size has been exceeded.",
  "context length exceeded",
  "Input length 9000 exceeds the maximum allowed input length 8192.",
  "Range of input length should be [1, 129024]",
  "Requested token count exceeds the model's maximum context length of 131072 tokens.",
  "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
  "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  "Prompt tokens (9000) exceeds max cache size 8192",
  "The prompt is larger than the context window of the model",
  "Please reduce the length of the messages or completion.",
])("too long: %s", (message) => {
  expect(isContextOverflow({ message })).toBe(true);
});

test.each([
  "Too many tokens, please wait before trying again.",
  "Rate limit reached for gpt-4.1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.",
  "Request was throttled. The maximum context length may be used again in 20 seconds.",
  "Your requests exceed the limit; retry in 3 minutes.",
  "max_tokens must be at least 1",
  "The model is overloaded.",
  "invalid_request_error: messages must not be empty",
])("something else: %s", (message) => {
  expect(isContextOverflow({ message })).toBe(false);
});

test("the code says it without words", () => {
  expect(isContextOverflow({ code: "context_length_exceeded", message: "no" })).toBe(true);
});
