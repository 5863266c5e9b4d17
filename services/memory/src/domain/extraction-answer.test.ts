import { expect, test } from "vitest";
import { readAnswer } from "./extraction-answer.ts";

const shown = { known: 2, sequences: new Set([3, 5]), agent: "" };
const add = { op: "add", scope: "user", text: "Lives in Oslo.", importance: 70, source: 3 };
const read = (...facts: unknown[]) => readAnswer(JSON.stringify({ facts }), shown);

test("the four changes are read", () => {
  const update = { op: "update", id: "f2", text: " Lives in Rome. ", importance: 0, source: 5 };
  const changes = read(add, update, { op: "none", id: "f1" });
  expect(changes).toEqual({
    changes: [
      add,
      { op: "update", known: 1, text: "Lives in Rome.", importance: 0, source: 5 },
      { op: "none", known: 0 },
    ],
  });
  expect(read({ op: "delete", id: "f1", source: 5 })).toEqual({ changes: [{ op: "delete", known: 0, source: 5 }] });
  expect(read()).toEqual({ changes: [] });
});

test.each<readonly [string, unknown]>([
  ["op is not known", { ...add, op: "merge" }],
  ["the fields of add", { ...add, why: "so" }],
  ["the fields of delete", { op: "delete", id: "f1" }],
  ["scope is not offered", { ...add, scope: "agent" }],
  ["scope is not offered", { ...add, scope: "tenant" }],
  ["text is not", { ...add, text: "  " }],
  ["text is not", { ...add, text: "x".repeat(501) }],
  ["importance is no", { ...add, importance: 0.5 }],
  ["importance is no", { ...add, importance: "70" }],
  ["source was not shown", { ...add, source: 4 }],
  ["id is none", { op: "none", id: "f3" }],
  ["id is none", { op: "none", id: "f01" }],
  ["it is no object", null],
])("%s", (fault, entry) => {
  expect(read(add, entry)).toEqual({ fault: expect.stringContaining(`facts[1]: ${fault}`) });
});

test.each([
  "",
  "no facts",
  "[]",
  "null",
  '{"facts": {}}',
  '{"facts": [], "more": 1}',
  '```json\n{"facts": []}\n```',
  `{"facts": [${'{"op": "none", "id": "f1"},'.repeat(32)}{"op": "none", "id": "f2"}]}`,
])("what is no such object is refused as a whole: %s", (text) => {
  expect(readAnswer(text, shown)).toHaveProperty("fault");
});

test("a known fact is changed once", () => {
  expect(read({ op: "none", id: "f1" }, { op: "delete", id: "f1", source: 3 })).toHaveProperty("fault");
});
