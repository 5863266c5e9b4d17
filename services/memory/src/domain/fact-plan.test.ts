import { expect, test } from "vitest";
import type { FactChange } from "./extraction-answer.ts";
import type { Fact } from "./fact.ts";
import { type FactRules, planFacts } from "./fact-plan.ts";

const fact = (id: string, text: string): Fact => ({
  ...{
    id,
    lineId: id,
    scope: "user",
    subject: "alice",
    agent: "",
    text,
    importance: 50,
    conversationId: "c",
    taskId: "t",
  },
  ...{ messageSequence: 1, validFrom: new Date(0), validTo: undefined, supersededBy: undefined },
});
const rules: FactRules = {
  ...{ subject: "alice", agent: "", most: 3, floor: 30 },
  secret: (text) => text.includes("password"),
  forgotten: (_, text) => text === "Likes tea.",
};
const add = (text: string, importance = 50) => ({ op: "add", scope: "user", text, importance, source: 7 }) as const;
const plan = (changes: readonly FactChange[], known: readonly (Fact | undefined)[] = [], holding?: readonly Fact[]) =>
  planFacts(changes, known, holding ?? known.filter((entry) => entry !== undefined), rules);

test("new words are added once, whatever their case and spacing", () => {
  const { write, counts } = plan([add("Lives in Oslo."), add("lives  in oslo")]);
  expect(write).toEqual([
    {
      scope: "user",
      subject: "alice",
      agent: "",
      text: "Lives in Oslo.",
      importance: 50,
      messageSequence: 7,
      replaces: undefined,
    },
  ]);
  expect(counts).toEqual({ added: 1, updated: 0, ended: 0, unchanged: 1, refused: 0 });
});

test("a change closes the version before it", () => {
  const old = fact("f", "Lives in Oslo.");
  const { write, end } = plan([{ op: "update", known: 0, text: "Lives in Rome.", importance: 60, source: 9 }], [old]);
  expect(end).toEqual([old]);
  expect(write[0]).toMatchObject({ text: "Lives in Rome.", replaces: old, messageSequence: 9 });
});

test("what ended meanwhile is not changed, and an ended fact makes room for its own words", () => {
  expect(plan([{ op: "delete", known: 0, source: 7 }], [undefined]).end).toEqual([]);
  const old = fact("f", "Lives in Oslo.");
  const { counts } = plan([{ op: "delete", known: 0, source: 7 }, add("Lives in Oslo.")], [old]);
  expect(counts).toMatchObject({ ended: 1, added: 1 });
});

test("forgotten words, secrets, trifles and what is beyond the cap are refused", () => {
  const held = [fact("a", "A"), fact("b", "B")];
  const { write, counts } = plan(
    [add("Likes tea."), add("The password is x"), add("Trifle", 29), add("C"), add("D")],
    held,
  );
  expect(write.map(({ text }) => text)).toEqual(["C"]);
  expect(counts).toEqual({ added: 1, updated: 0, ended: 0, unchanged: 0, refused: 4 });
});
