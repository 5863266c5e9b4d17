import fc from "fast-check";
import { expect, test } from "vitest";
import { wireSchema } from "./wire-schema.ts";

const text = { type: "string" };
const person = { type: "object", properties: { name: text }, required: ["name"] };

test.each([
  ["a plain object", { ...person, additionalProperties: false }, { ...person, additionalProperties: false }],
  ["nothing at all", {}, { type: "object", properties: {} }],
  ["an object without properties", { type: "object" }, { type: "object", properties: {} }],
  ["what a provider need not know", { $schema: "x", $id: "y", $comment: "z", ...person }, person],
  ["anything more", { ...person, additionalProperties: {} }, person],
  [
    "a local reference with words beside it",
    { type: "object", properties: { a: { $ref: "#/$defs/p", description: "d" } }, $defs: { p: person } },
    { type: "object", properties: { a: { ...person, description: "d" } } },
  ],
  [
    "references behind references, and escaped names",
    {
      type: "object",
      properties: { a: { $ref: "#/definitions/x~1y%20z" } },
      definitions: { "x/y z": { $ref: "#/definitions/t" }, t: text },
    },
    { type: "object", properties: { a: text } },
  ],
  [
    "a reference to nowhere, and one to another document",
    {
      type: "object",
      properties: { a: { $ref: "#/$defs/none" }, b: { $ref: "http://127.0.0.1/x.json" }, c: { $ref: "#/%zz" } },
    },
    { type: "object", properties: { a: {}, b: {}, c: {} } },
  ],
  [
    "a choice at the top",
    { anyOf: [person, { type: "object", properties: { id: text, name: text }, required: ["id", "name"] }] },
    { type: "object", properties: { name: text, id: text }, required: ["name"] },
  ],
  [
    "all of several at the top",
    {
      type: "object",
      required: ["c"],
      properties: { c: text },
      allOf: [person, { properties: { id: text }, required: ["id"] }],
    },
    { type: "object", properties: { name: text, id: text, c: text }, required: ["c", "name", "id"] },
  ],
  [
    "a property that is a text in one choice and a number in the other",
    { oneOf: [{ properties: { a: text } }, { properties: { a: { type: "number" }, b: text } }] },
    { type: "object", properties: { a: { anyOf: [text, { type: "number" }] }, b: text } },
  ],
  ["a reference at the top", { $ref: "#/$defs/p", $defs: { p: person } }, person],
  [
    "keywords of draft 2020-12",
    {
      type: "object",
      properties: { a: { type: "array", prefixItems: [text], items: false, unevaluatedItems: false } },
      dependentRequired: { a: ["b"] },
    },
    {
      type: "object",
      properties: { a: { type: "array", prefixItems: [text], items: false, unevaluatedItems: false } },
      dependentRequired: { a: ["b"] },
    },
  ],
  [
    "a property of the name of a keyword",
    { type: "object", properties: { $ref: text, properties: person, $defs: text } },
    { type: "object", properties: { $ref: text, properties: person, $defs: text } },
  ],
])("%s", (_name, schema, want) => {
  expect(wireSchema(schema)).toEqual(want);
});

test("a schema that refers to itself is cut, and one that doubles at each step ends", () => {
  const tree = { type: "object", properties: { next: { $ref: "#" } } };
  expect(JSON.stringify(wireSchema(tree)).length).toBeLessThan(1_000);
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`p${i}`, { $ref: "#" }]));
  expect(JSON.stringify(wireSchema({ type: "object", properties: wide })).length).toBeLessThan(200_000);
});

test("whatever comes, an object with properties goes out, without references, and the schema is not changed", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom("$ref", "anyOf", "properties", "items", "type", "required", "$defs"),
        fc.jsonValue(),
      ),
      (schema) => {
        const before = JSON.stringify(schema);
        const copy = wireSchema(schema);
        expect([copy.type, typeof copy.properties]).toEqual(["object", "object"]);
        expect("$ref" in copy || "anyOf" in copy || "$defs" in copy).toBe(false);
        expect(wireSchema(schema)).toBe(copy);
        expect(JSON.stringify(schema)).toBe(before);
      },
    ),
  );
});
