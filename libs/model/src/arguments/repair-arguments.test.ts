import fc from "fast-check";
import { expect, test } from "vitest";
import { repairedArguments } from "./repair-arguments.ts";

test.each([
  ["a fence", '```json\n{"a":1}\n```', { a: 1 }],
  ["a fence without a language", '```\n{"a":1}\n```\n', { a: 1 }],
  ["a comma before a brace", '{"a":1,}', { a: 1 }],
  ["commas before brackets, with white space", '{"a":[1,2 ,\n ],\n}', { a: [1, 2] }],
  ["single quotes", "{'a':'b \"c\"'}", { a: 'b "c"' }],
  ["an escaped single quote", "{'a':'it\\'s'}", { a: "it's" }],
  ["single quotes inside double ones", `{"a":"it's",}`, { a: "it's" }],
  ["line breaks in a string", '{"code":"print(1)\nprint(2)\t# x\r\n"}', { code: "print(1)\nprint(2)\t# x\r\n" }],
  ["a string of JSON", JSON.stringify('{"a":"b"}'), { a: "b" }],
  ["a string of a string of JSON", JSON.stringify(JSON.stringify('{"a":"b"}')), { a: "b" }],
  ["a string of JSON with a slip", JSON.stringify("{'a':1,}"), { a: 1 }],
  ["two objects", '{"a":1}{"b":2}', { a: 1 }],
  ["two objects on two lines", '{"a":{"x":1}}\n{"b":2}\n', { a: { x: 1 } }],
  ["commas, quotes and braces inside a string", '{"a":",}\'{",}', { a: ",}'{" }],
])("%s is repaired", (_name, text, value) => {
  expect(JSON.parse(repairedArguments(text) ?? "null")).toEqual(value);
});

test.each([
  ["nothing", ""],
  ["what is cut off", '{"a":"b'],
  ["what is cut off after a value", '{"a":1'],
  ["an array", "[1]"],
  ["null", "null"],
  ["a string", '"x"'],
  ["a number", "7"],
  ["an object with words behind it", '{"a":1} and so on'],
  ["an apostrophe in single quotes", "{'a':'it's'}"],
  ["words", "print(1)"],
  ["a name without quotes", "{a:1}"],
  ["four strings in one another", [1, 2, 3, 4].reduce((text) => JSON.stringify(text), '{"a":1}')],
])("%s is not made up", (_name, text) => {
  expect(repairedArguments(text)).toBeUndefined();
});

test("an object is never changed, and a repaired one is an object that needs no repair", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1, 2), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      expect(repairedArguments(text)).toBe(text);
    }),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => text.replaceAll('"', "'")),
      ),
      (text) => {
        const repaired = repairedArguments(text);
        if (repaired !== undefined) expect(repairedArguments(repaired)).toBe(repaired);
      },
    ),
  );
});

test("a comma that is no slip stays, however the object is written", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
  fc.assert(
    fc.property(object, (value) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(repairedArguments(`${text.slice(0, -1)} , }`) ?? "null")).toEqual(JSON.parse(text));
    }),
  );
});
