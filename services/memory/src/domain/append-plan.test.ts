import { describe, expect, it } from "vitest";
import { type HashedMessage, type LogFacts, planAppend } from "./append-plan.ts";
import { checkDrafts } from "./append-rules.ts";
import type { MessageDraft } from "./message.ts";

const base: MessageDraft = {
  role: "user",
  text: "hello",
  toolCalls: [],
  toolCallId: "",
  spillPointer: "",
  fullCharacters: 5,
  clientMessageId: "",
  pinned: false,
  taskId: "",
};
const draft = (over: Partial<MessageDraft>, contentHash = "h") => ({ draft: { ...base, ...over }, contentHash });
const call = (callId: string) => ({ callId, name: "t", argumentsJson: "{}", providerCallId: "" });
const logged = (over: Partial<HashedMessage>): HashedMessage => ({
  ...base,
  id: "i",
  sequence: 1,
  createdAt: new Date(0),
  tokens: 1,
  contentHash: "h",
  ...over,
});
const facts = (over: Partial<LogFacts> = {}): LogFacts => ({
  conversationId: "c",
  present: [],
  knownCalls: new Set(),
  spilledCalls: new Set(),
  ...over,
});

describe("planAppend", () => {
  it("finds what is there by client id and by call id, and places the rest", () => {
    const present = [logged({ clientMessageId: "m1" }), logged({ role: "tool", toolCallId: "a", sequence: 2 })];
    const drafts = [
      draft({ clientMessageId: "m1" }),
      draft({ role: "tool", toolCallId: "a" }),
      draft({ clientMessageId: "m3" }),
    ];
    const plan = planAppend(drafts, facts({ present, knownCalls: new Set(["a"]) }), "messages");
    expect(plan.map((p) => p.kind)).toEqual(["present", "present", "new"]);
  });

  it("refuses another content under the same key", () => {
    const present = [logged({ clientMessageId: "m1", contentHash: "other" })];
    expect(() => planAppend([draft({ clientMessageId: "m1" })], facts({ present }), "messages")).toThrow(
      expect.objectContaining({ code: "ALREADY_EXISTS", reason: "MESSAGE_EXISTS" }),
    );
  });

  it("accepts a result for a call of the same append, and refuses one for no call", () => {
    const asked = draft({ role: "assistant", toolCalls: [call("a")] });
    const answered = draft({ role: "tool", toolCallId: "a" });
    expect(planAppend([asked, answered], facts(), "append")).toHaveLength(2);
    expect(() => planAppend([answered, asked], facts(), "append")).toThrow(
      expect.objectContaining({ violations: [expect.objectContaining({ field: "append[0].tool_call_id" })] }),
    );
  });

  it("refuses a call id of another turn and a pointer of another conversation", () => {
    const again = draft({ role: "assistant", toolCalls: [call("a")] });
    expect(() => planAppend([again], facts({ knownCalls: new Set(["a"]) }), "messages")).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    const known = facts({ knownCalls: new Set(["a"]), spilledCalls: new Set(["a"]) });
    const pointing = (spillPointer: string) => [draft({ role: "tool", toolCallId: "a", spillPointer })];
    expect(planAppend(pointing("spill://c/a"), known, "messages")).toHaveLength(1);
    expect(() => planAppend(pointing("spill://other/a"), known, "messages")).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});

describe("checkDrafts", () => {
  it.each([
    ["an empty assistant turn", { role: "assistant", text: "" }, "messages[0].text"],
    ["calls on a user message", { toolCalls: [call("a")] }, "messages[0].tool_calls"],
    ["a call id on a user message", { toolCallId: "a" }, "messages[0].tool_call_id"],
    ["a pinned result", { role: "tool", toolCallId: "a", pinned: true }, "messages[0].pinned"],
    ["a call id out of shape", { role: "tool", toolCallId: "a/b" }, "messages[0].tool_call_id"],
    ["a key that is too long", { clientMessageId: "k".repeat(201) }, "messages[0].client_message_id"],
    ["one call twice", { role: "assistant", toolCalls: [call("a"), call("a")] }, "messages[0].tool_calls[1].call_id"],
  ] as const)("refuses %s", (_, over, field) => {
    expect(() => checkDrafts([{ ...base, ...over }], "messages")).toThrow(
      expect.objectContaining({ violations: [expect.objectContaining({ field })] }),
    );
  });

  it("refuses one idempotency key twice and accepts a result without text", () => {
    const keyed = { ...base, clientMessageId: "m" };
    expect(() => checkDrafts([keyed, keyed], "messages")).toThrow(/twice/);
    expect(() => checkDrafts([{ ...base, role: "tool", toolCallId: "a", text: "" }], "messages")).not.toThrow();
  });
});
