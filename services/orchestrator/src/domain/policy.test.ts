import fc from "fast-check";
import { expect, test } from "vitest";
import { type ArgumentTest, canonicalJson, decidingRule, fitsName, inOrder, type Policy } from "./policy.ts";

const matches = (pattern: string, text: string) => new RegExp(pattern).test(text);

function rule(fields: Partial<Policy>): Policy {
  return {
    ...{ name: "r", priority: 0, effect: "deny", agent: "", tool: "*", conditions: [], reason: "", expiresMs: 1_000 },
    ...{ approverNotRequester: false, allowedCommands: [], askIfUnknown: false },
    ...fields,
  };
}

function fits(test: ArgumentTest, path: string, args: Record<string, unknown>, negate = false): boolean {
  const call = { agent: "", tool: "t", args };
  return decidingRule([rule({ conditions: [{ path, test, negate }] })], call, matches) !== undefined;
}

test("rules are asked by descending priority, then by name, and the first that fits decides", () => {
  const rules = inOrder([
    rule({ name: "b", tool: "bash" }),
    rule({ name: "a", tool: "bash" }),
    rule({ name: "high", priority: 5, tool: "run_*" }),
    rule({ name: "low", priority: -1 }),
  ]);
  expect(rules.map(({ name }) => name)).toEqual(["high", "a", "b", "low"]);
  const ask = (tool: string) => decidingRule(rules, { agent: "", tool, args: {} }, matches)?.name;
  expect([ask("run_code"), ask("bash"), ask("grep")]).toEqual(["high", "a", "low"]);
  expect(decidingRule([rule({ tool: "bash" })], { agent: "", tool: "grep", args: {} }, matches)).toBeUndefined();
});

test("a rule of an agent binds that agent alone", () => {
  const rules = [rule({ agent: "ops" })];
  expect(decidingRule(rules, { agent: "ops", tool: "t", args: {} }, matches)?.name).toBe("r");
  expect(decidingRule(rules, { agent: "", tool: "t", args: {} }, matches)).toBeUndefined();
});

test.each<[boolean, ArgumentTest, string, Record<string, unknown>]>([
  [true, { kind: "equals_json", value: '{"b":1,"a":[2]}' }, "x", { x: { a: [2], b: 1 } }],
  [false, { kind: "equals_json", value: '"1"' }, "x", { x: 1 }],
  [true, { kind: "matches", value: "rm +-rf" }, "command", { command: "sudo rm -rf /" }],
  [true, { kind: "matches", value: "^12$" }, "n", { n: 12 }],
  [true, { kind: "starts_with", value: "/etc" }, "files.1.path", { files: [{}, { path: "/etc/passwd" }] }],
  [false, { kind: "starts_with", value: "/etc" }, "files.2.path", { files: [{}, { path: "/etc/passwd" }] }],
  [true, { kind: "less_than", value: 3 }, "n", { n: 2 }],
  [false, { kind: "less_than", value: 3 }, "n", { n: "2" }],
  [true, { kind: "greater_than", value: 3 }, "n", { n: 4 }],
  [false, { kind: "greater_than", value: 3 }, "n", { n: 3 }],
  [true, { kind: "present", value: true }, "n", { n: null }],
  [false, { kind: "present", value: true }, "constructor", {}],
  [false, { kind: "present", value: true }, "text.length", { text: "abc" }],
  [true, { kind: "present", value: false }, "n", {}],
])("%s: %j at %s of %j, and negated the opposite", (expected, test, path, args) => {
  expect(fits(test, path, args)).toBe(expected);
  expect(fits(test, path, args, true)).toBe(!expected);
});

test("a pattern fits what the same regular expression would, and takes no time for many stars", () => {
  const letters = fc.array(fc.constantFrom("a", "b", "*"), { maxLength: 8 }).map((parts) => parts.join(""));
  const name = fc.array(fc.constantFrom("a", "b"), { maxLength: 10 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(letters, name, (pattern, text) => {
      expect(fitsName(pattern, text)).toBe(new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(text));
    }),
  );
  expect(fitsName(`${"*a".repeat(30)}b`, "a".repeat(64))).toBe(false);
});

test("which rule decides depends on neither the order of the rows nor the order of keys", () => {
  const rules = fc.uniqueArray(
    fc.record({
      name: fc.stringMatching(/^[a-e]{1,3}$/),
      priority: fc.integer({ min: -2, max: 2 }),
      tool: fc.constantFrom("*", "bash", "b*"),
      value: fc.integer({ min: 0, max: 3 }),
    }),
    { selector: ({ name }) => name, maxLength: 8 },
  );
  fc.assert(
    fc.property(rules, fc.integer({ min: 0, max: 3 }), fc.constantFrom("bash", "grep"), (made, value, tool) => {
      const policies = made.map(({ value: limit, ...fields }) =>
        rule({ ...fields, conditions: [{ path: "n", test: { kind: "less_than", value: limit }, negate: false }] }),
      );
      const call = { agent: "", tool, args: { n: value } };
      const chosen = decidingRule(inOrder(policies), call, matches);
      expect(decidingRule(inOrder([...policies].reverse()), call, matches)).toEqual(chosen);
      const fitting = policies.filter((policy) => decidingRule([policy], call, matches) !== undefined);
      expect(fitting.every((policy) => (chosen?.priority ?? -9) >= policy.priority)).toBe(true);
      expect(chosen === undefined).toBe(fitting.length === 0);
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const turned = Object.fromEntries(Object.entries(value).reverse());
      expect(canonicalJson(turned)).toBe(canonicalJson(value));
    }),
  );
});
