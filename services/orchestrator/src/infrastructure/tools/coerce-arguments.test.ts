import fc from "fast-check";
import { expect, test } from "vitest";
import { coercedArguments } from "./coerce-arguments.ts";

test.each([
  ["an integer", { type: "integer" }, "5", 5],
  ["a whole number that is no integer", { type: "integer" }, "5.5", "5.5"],
  ["a number too large to be exact", { type: "integer" }, "9007199254740993", "9007199254740993"],
  ["a number", { type: "number" }, " 5.5 ", 5.5],
  ["a number without an end", { type: "number" }, "1e999", "1e999"],
  ["a truth value", { type: "boolean" }, "true", true],
  ["a truth value of Python", { type: "boolean" }, "False", false],
  ["a number for a truth value", { type: "boolean" }, "1", "1"],
  ["null", { type: ["integer", "null"] }, "null", null],
  ["None", { type: ["integer", "null"] }, "None", null],
  ["an object", { type: "object" }, '{"x":1}', { x: 1 }],
  ["an object with texts in it", { type: "object", properties: { x: { type: "integer" } } }, '{"x":"1"}', { x: 1 }],
  ["a list", { type: "array", items: { type: "integer" } }, '["1",2]', [1, 2]],
  ["a text", { type: "string" }, "5", "5"],
  ["a text or a number", { type: ["string", "integer"] }, "5", "5"],
  ["anything", {}, "5", "5"],
  ["a number where a text is wanted", { type: "string" }, 5, 5],
  ["what is not to be read", { type: "integer" }, "five", "five"],
])("%s", (_name, property, given, want) => {
  expect(coercedArguments({ a: given }, { type: "object", properties: { a: property } })).toEqual({ a: want });
});

test("texts inside objects and lists are read, and what the schema does not name stays", () => {
  const schema = {
    type: "object",
    properties: { list: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } } },
  };
  const args = { list: [{ n: "1" }, { n: 2, other: "3" }], other: "4" };
  expect(coercedArguments(args, schema)).toEqual({ list: [{ n: 1 }, { n: 2, other: "3" }], other: "4" });
  expect(args.list[0]).toEqual({ n: "1" });
});

test("arguments without a text in a wrong place are the same object, whatever the schema", () => {
  const values = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)));
  fc.assert(
    fc.property(values, fc.dictionary(fc.string(), fc.jsonValue()), (args, schema) => {
      expect(coercedArguments(args, { properties: schema })).toBe(args);
    }),
  );
});

test("nesting without end is looked into so far and no further", () => {
  const schema: Record<string, unknown> = { type: "object" };
  schema.properties = { a: schema };
  let args: Record<string, unknown> = { a: "{}" };
  for (let i = 0; i < 100; i++) args = { a: args };
  expect(coercedArguments(args, schema)).toBe(args);
});
