import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";
import type { VerificationFinding } from "../domain/task.ts";

/** Faults of an answer that are told. */
const toldFaults = 8;

/** Patterns of a tenant's schema run in linear time, whatever the answer is. */
const linear = Object.assign(
  (pattern: string, _flags: string) => {
    const compiled = RE2JS.compile(pattern);
    // The compiler keeps what it made of a pattern by the name that toString gives.
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => `/${pattern}/` };
  },
  { code: "linear" },
);

/** What of an answer does not fit a JSON Schema (draft 2020-12). A fenced block around the JSON is no fault. */
export function jsonSchemaFindings(schema: string, answer: string): readonly VerificationFinding[] {
  const trimmed = answer.trim();
  let value: unknown;
  try {
    value = JSON.parse(/^```(?:json)?\n([\s\S]*)\n```$/.exec(trimmed)?.[1] ?? trimmed);
  } catch {
    return [finding("NOT_JSON", "The answer is not one JSON value and nothing else.")];
  }
  const valid = compiled(schema);
  if (valid(value)) return [];
  return (valid.errors ?? []).slice(0, toldFaults).map((error) => {
    const where = error.instancePath === "" ? "the answer" : error.instancePath;
    return finding("SCHEMA_MISMATCH", `${where} ${error.message ?? "does not fit the schema"}`);
  });
}

/** What is wrong with a schema; undefined where nothing is. */
export function jsonSchemaFault(schema: string): string | undefined {
  try {
    compiled(schema);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 200) : "no JSON Schema";
  }
}

function compiled(schema: string) {
  return compiledSchema(JSON.parse(schema));
}

/**
 * A JSON Schema (draft 2020-12) of somebody else as a check. It is compiled by itself, so that its `$id` meets no other;
 * `$ref` reaches nothing outside of it, and its patterns are linear. Throws for what is none.
 */
export function compiledSchema(parsed: unknown): ValidateFunction {
  if (typeof parsed !== "boolean" && (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))) {
    throw new TypeError("a JSON Schema is an object");
  }
  // A check that answers later would pass everything.
  if (typeof parsed === "object" && "$async" in parsed) throw new TypeError("$async is no keyword of JSON Schema");
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false, code: { regExp: linear } });
  return ajv.compile(parsed);
}

function finding(code: string, text: string): VerificationFinding {
  return { code, text, blocking: true };
}
