import fc from "fast-check";
import { expect, test } from "vitest";
import { ReasoningTags } from "./reasoning-tags.ts";

const table: readonly (readonly [name: string, content: string, text: string, reasoning: string])[] = [
  ["no tags", "An answer.", "An answer.", ""],
  ["thoughts, then the answer", "<think>hm\n</think>\n\nAn answer.", "An answer.", "hm\n"],
  ["white space before the tag", "\n <think>hm</think>An answer.", "An answer.", "hm"],
  ["the tag of MiniMax", "<mm:think>hm</mm:think>An answer.", "An answer.", "hm"],
  ["a tag that is never closed", "<think>hm", "", "hm"],
  ["a tag of which a part of the end came", "<think>hm</thi", "", "hm</thi"],
  ["a tag that a template has opened", "hm\n</think>\n\nAn answer.", "An answer.", "hm\n"],
  ["no thoughts between the tags", "<think>\n\n</think>\n\nAn answer.", "An answer.", "\n\n"],
  ["thoughts twice", "<think>a</think>\n<think>b</think>\nAn answer.", "An answer.", "ab"],
  ["another tag inside", "<think>a</mm:think>b</think>c", "c", "a</mm:think>b"],
  ["a tag in the middle of the answer", "Write <think> and </think>.", "Write <think> and </think>.", ""],
  ["a closing tag in a code span", "Close it by `</think>`.", "Close it by `</think>`.", ""],
  ["a closing tag in a fenced block", "See\n```\n</think>\n```\n", "See\n```\n</think>\n```\n", ""],
  ["the beginning of a tag alone", "<thi", "<thi", ""],
  ["something like a tag", "<thinner>", "<thinner>", ""],
  ["nothing", "", "", ""],
];

test.each(table)("%s", (_name, content, text, reasoning) => {
  const tags = new ReasoningTags();
  tags.push(content);
  expect(tags.finish()).toEqual({ text, reasoning });
});

test("however the content is cut, the whole is the same, and what is passed on is a beginning of it", () => {
  const contents = fc.oneof(
    fc.constantFrom(...table.map(([, content]) => content)),
    fc
      .array(fc.constantFrom("<think>", "</think>", "<mm:think>", "<", "a", "`", "\n", " "), { maxLength: 12 })
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(contents, fc.array(fc.nat(60)), (content, cuts) => {
      const whole = new ReasoningTags();
      whole.push(content);
      const parts = new ReasoningTags();
      const places = [0, ...cuts.map((cut) => Math.min(cut, content.length)).sort((a, b) => a - b), content.length];
      const pieces = places.slice(1).flatMap((end, i) => parts.push(content.slice(places[i], end)));
      expect(parts.finish()).toEqual(whole.finish());
      const passed = (kind: string) =>
        pieces
          .filter((piece) => piece.kind === kind)
          .map((piece) => piece.text)
          .join("");
      const { text, reasoning } = parts.finish();
      // Where only an end of thoughts comes, they were passed on as text.
      if (!/^<(?:mm:)?think>/.test(content)) return;
      expect([text.startsWith(passed("text")), reasoning.startsWith(passed("reasoning"))]).toEqual([true, true]);
    }),
  );
});
