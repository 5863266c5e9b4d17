import { DroverError } from "@drover/kernel";
import { expect, test } from "vitest";
import type { Policy } from "./policy.ts";
import { checkPolicy } from "./policy-faults.ts";

const good: Policy = {
  ...{ name: "no-rm", priority: 1, effect: "deny", agent: "", tool: "bash", reason: "no", expiresMs: 86_400_000 },
  ...{ approverNotRequester: false, allowedCommands: [], askIfUnknown: false },
  conditions: [{ path: "command", test: { kind: "matches", value: "rm" }, negate: false }],
};
const condition = (test: Policy["conditions"][number]["test"], path = "a") => ({
  conditions: [{ path, test, negate: false }],
});

function faultOf(fields: Partial<Policy>): string {
  try {
    checkPolicy({ ...good, ...fields }, ["bash", "grep"], (pattern) => (pattern === "(" ? "missing )" : undefined));
    return "";
  } catch (error) {
    return error instanceof DroverError ? error.message : String(error);
  }
}

test("what is right is taken, a pattern for tools that are not there yet too", () => {
  expect(["bash", "*", "mcp__*"].map((tool) => faultOf({ tool }))).toEqual(["", "", ""]);
  expect(faultOf({ effect: "allow", allowedCommands: ["git", "g++"] })).toBe("");
});

test.each<[string, Partial<Policy>]>([
  ["policy.name", { name: "a b" }],
  ['policy.tool: found "bahs", allowed one of bash, grep', { tool: "bahs" }],
  ["policy.agent", { agent: "a b" }],
  ["policy.priority", { priority: 1.5 }],
  ["policy.reason", { reason: "x".repeat(501) }],
  ["policy.expires_ms", { expiresMs: -1 }],
  ["policy.approver_not_requester", { approverNotRequester: true }],
  ["policy.allowed_commands", { allowedCommands: ["git"] }],
  ["policy.allowed_commands", { effect: "allow", allowedCommands: ["rm; ls"] }],
  ["policy.conditions[0].path", condition({ kind: "present", value: true }, "a..b")],
  ["policy.conditions[0].matches: found missing )", condition({ kind: "matches", value: "(" })],
  ["policy.conditions[0].equals_json", condition({ kind: "equals_json", value: "{" })],
  ["policy.conditions[0].less_than", condition({ kind: "less_than", value: Number.NaN })],
  ["policy.conditions[0].starts_with", condition({ kind: "starts_with", value: "x".repeat(1_001) })],
  ["policy.conditions:", { conditions: Array.from({ length: 21 }, () => good.conditions[0] as never) }],
])("a fault names %s", (field, fields) => expect(faultOf(fields)).toContain(field));
