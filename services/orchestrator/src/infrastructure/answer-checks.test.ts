import { expect, test } from "vitest";
import { jsonSchemaFault, jsonSchemaFindings } from "./json-schema-check.ts";
import { createLinearPatterns } from "./linear-patterns.ts";
import { ruleFindings } from "./rule-check.ts";

const rules = {
  ...({ kind: "rules", mustContain: ["total"], mustNotContain: ["sorry"], mustMatch: ["\\d+ EUR"] } as const),
  ...{ minCharacters: 10, maxCharacters: 40, requiresCitation: false },
};

test.each([
  ["The total is 42 EUR.", []],
  ["Sorry.", ["MUST_CONTAIN", "MUST_MATCH", "TOO_SHORT"]],
  ["The total is 42 EUR, sorry that it took so long.", ["MUST_NOT_CONTAIN", "TOO_LONG"]],
])("rules on %s", (answer, codes) => {
  expect(ruleFindings(rules, answer, createLinearPatterns()).map((finding) => finding.code)).toEqual(codes);
});

const schema = JSON.stringify({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { total: { type: "integer" }, code: { type: "string", pattern: "^(a+)+$" } },
  required: ["total"],
  additionalProperties: false,
});

test.each([
  ['{"total": 1}', []],
  ['```json\n{"total": 1}\n```', []],
  ['The total: {"total": 1}', ["NOT_JSON"]],
  ['{"total": "1", "x": 2}', ["SCHEMA_MISMATCH", "SCHEMA_MISMATCH"]],
  // Exponential for a matcher that goes back.
  [`{"total": 1, "code": "${"a".repeat(50_000)}!"}`, ["SCHEMA_MISMATCH"]],
])("a schema on %.30s", (answer, codes) => {
  expect(jsonSchemaFindings(schema, answer).map((finding) => finding.code)).toEqual(codes);
});

test("what is no schema is told", () => {
  expect(jsonSchemaFault(schema)).toBeUndefined();
  expect(jsonSchemaFault("{")).toMatch(/JSON/);
  expect(jsonSchemaFault("[]")).toMatch(/object/);
  expect(jsonSchemaFault('{"$async": true, "type": "object"}')).toMatch(/\$async/);
  expect(jsonSchemaFault('{"type": "nonsense"}')).toMatch(/type/);
  expect(jsonSchemaFault('{"$ref": "https://elsewhere.example/schema"}')).toMatch(/resolve/);
  expect(jsonSchemaFault('{"type": "string", "pattern": "(?=x)"}')).toBeDefined();
});
