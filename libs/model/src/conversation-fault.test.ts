import { expect, test } from "vitest";
import { conversationFault } from "./conversation-fault.ts";
import type { Message } from "./message.ts";

const user: Message = { role: "user", text: "q" };
const calls = (...names: readonly string[]): Message => ({
  role: "assistant",
  text: "",
  toolCalls: names.map((name) => ({ callId: `id-${name}`, providerCallId: "", name, argumentsJson: "{}" })),
});
const result = (name: string): Message => ({ role: "tool", callId: `id-${name}`, text: "r" });

test("accepts parallel calls whose results come in any order", () => {
  expect(conversationFault([user, calls("a", "b"), result("b"), result("a"), user])).toBeUndefined();
});

test.each([
  ["an orphan result", [user, result("a")], "messages[1].call_id"],
  ["a result given twice", [calls("a"), result("a"), result("a")], "messages[2].call_id"],
  ["a result missing before the next message", [calls("a", "b"), result("a"), user], "messages[2]"],
  ["a result missing at the end", [calls("a")], "messages[1]"],
  ["an empty assistant turn", [calls()], "messages[0]"],
  ["a bad name", [calls("a b"), result("a b")], "messages[0].tool_calls[0].name"],
  ["an id used twice", [calls("a"), result("a"), calls("a"), result("a")], "messages[2].tool_calls[0].call_id"],
])("names the place of %s", (_, messages, field) => {
  expect(conversationFault(messages)?.field).toBe(field);
});
