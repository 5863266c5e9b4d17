import { expect, test } from "vitest";
import { sourceOf, withoutInjected } from "./extraction-source.ts";
import type { LoggedMessage } from "./message.ts";

const message = (sequence: number, fields: Partial<LoggedMessage>): LoggedMessage => ({
  ...{ id: "m", role: "user", text: "", toolCalls: [], toolCallId: "", spillPointer: "", fullCharacters: 0 },
  ...{ clientMessageId: "", pinned: false, taskId: "t", createdAt: new Date(0), tokens: 0 },
  sequence,
  ...fields,
});

test("the person's pinned words and the assistant's are a source; results, system text and the loop's own words are not", () => {
  const source = sourceOf([
    message(1, { role: "system", text: "be kind", pinned: true }),
    message(2, { text: "I live in Oslo", pinned: true }),
    message(3, { role: "assistant", text: "" }),
    message(4, { role: "tool", text: "Ada lives in Rome" }),
    message(5, { text: "Your turn was empty." }),
    message(6, { role: "assistant", text: "noted" }),
  ]);
  expect(source).toEqual([
    { sequence: 2, speaker: "person", text: "I live in Oslo" },
    { sequence: 6, speaker: "assistant", text: "noted" },
  ]);
});

test("where no person speaks there is nothing to look at", () => {
  expect(sourceOf([message(1, { role: "assistant", text: "hello" })])).toEqual([]);
  expect(sourceOf([message(1, { pinned: true, text: "<system-reminder>he likes tea</system-reminder> " })])).toEqual(
    [],
  );
});

test("of too much the task's own words and the newest stay", () => {
  const many = Array.from({ length: 30 }, (_, at) => message(at + 2, { role: "assistant", text: "x".repeat(9_000) }));
  const source = sourceOf([message(1, { text: "do it", pinned: true }), ...many]);
  expect(source.map(({ sequence }) => sequence)).toEqual([1, 23, 24, 25, 26, 27, 28, 29, 30, 31]);
  expect(source.at(-1)?.text).toHaveLength(4_000);
});

test.each([
  ["a<system-reminder>b</system-reminder>c", "ac"],
  ['a<long-term-memory since="x">b</long-term-memory>c<system-reminder>d', "ac"],
  ["a<system-reminder>b<system-reminder>c</system-reminder>d", "ad"],
  ["a < b", "a < b"],
])("what was put in is taken out: %s", (text, kept) => expect(withoutInjected(text)).toBe(kept));
