import { type FieldViolation, invalidFields } from "@drover/kernel";
import { isForeignName } from "./foreign-tools.ts";
import type { ArgumentCondition, Policy } from "./policy.ts";

/** Bounds of a rule, and how many a tenant may have. */
export const policyLimits = Object.freeze({
  rules: 500,
  conditions: 20,
  reasonCharacters: 500,
  textCharacters: 1_000,
  pathCharacters: 200,
  commands: 100,
  /** An ask that names no time waits a day; none waits longer than 30. */
  defaultExpiresMs: 86_400_000,
  longestExpiresMs: 30 * 86_400_000,
});

const namePattern = /^[A-Za-z0-9._-]{1,64}$/;
const toolPattern = /^[A-Za-z0-9_*-]{1,64}$/;
const nameAllowed = "1 to 64 letters, digits, ., _ or -";

/**
 * INVALID_ARGUMENT with every fault of a rule. `tools` are the names on offer, `patternFault` says what is wrong with a
 * regular expression.
 */
export function checkPolicy(
  policy: Policy,
  tools: readonly string[],
  patternFault: (pattern: string) => string | undefined,
): void {
  const faults = [...faultsOf(policy, tools)];
  policy.conditions.forEach((condition, index) => {
    faults.push(...conditionFaults(condition, `policy.conditions[${index}]`, patternFault));
  });
  if (faults.length > 0) throw invalidFields(faults);
}

/** INVALID_ARGUMENT unless `name` can be the name of a rule. */
export function checkPolicyName(name: string): void {
  if (!namePattern.test(name)) throw invalidFields([{ field: "name", found: shown(name), allowed: nameAllowed }]);
}

function* faultsOf(policy: Policy, tools: readonly string[]): Generator<FieldViolation> {
  const { name, priority, agent, tool, reason, effect, allowedCommands, expiresMs } = policy;
  if (!namePattern.test(name)) yield { field: "policy.name", found: shown(name), allowed: nameAllowed };
  if (agent !== "" && !namePattern.test(agent)) {
    yield { field: "policy.agent", found: shown(agent), allowed: `empty, or ${nameAllowed}` };
  }
  if (!Number.isInteger(priority) || Math.abs(priority) > 1_000_000) {
    yield { field: "policy.priority", found: String(priority), allowed: "-1000000 to 1000000" };
  }
  if (!toolPattern.test(tool) || !(tool.includes("*") || tools.includes(tool) || isForeignName(tool))) {
    const allowed = `one of ${tools.join(", ")}, <server>__<tool>, or a pattern with *`;
    yield { field: "policy.tool", found: shown(tool), allowed };
  }
  if (reason.length > policyLimits.reasonCharacters) {
    const allowed = `at most ${policyLimits.reasonCharacters} characters`;
    yield { field: "policy.reason", found: `${reason.length} characters`, allowed };
  }
  if (expiresMs < 1_000 || expiresMs > policyLimits.longestExpiresMs) {
    const allowed = `0 for a day, or 1000 to ${policyLimits.longestExpiresMs}`;
    yield { field: "policy.expires_ms", found: String(expiresMs), allowed };
  }
  if (policy.conditions.length > policyLimits.conditions) {
    const allowed = `at most ${policyLimits.conditions}`;
    yield { field: "policy.conditions", found: String(policy.conditions.length), allowed };
  }
  if (effect !== "ask" && policy.approverNotRequester) {
    yield { field: "policy.approver_not_requester", found: "true", allowed: "only where the effect is ASK" };
  }
  if (effect !== "allow" && allowedCommands.length > 0) {
    yield { field: "policy.allowed_commands", found: "commands", allowed: "only where the effect is ALLOW" };
  }
  const bad = allowedCommands.find((command) => !/^[A-Za-z0-9._+/-]{1,100}$/.test(command));
  if (bad !== undefined || allowedCommands.length > policyLimits.commands) {
    const allowed = `at most ${policyLimits.commands} names of programs, each 1 to 100 letters, digits, ., _, +, / or -`;
    yield { field: "policy.allowed_commands", found: bad === undefined ? "too many" : shown(bad), allowed };
  }
}

function* conditionFaults(
  { path, test }: ArgumentCondition,
  field: string,
  patternFault: (pattern: string) => string | undefined,
): Generator<FieldViolation> {
  if (path === "" || path.length > policyLimits.pathCharacters || path.split(".").includes("")) {
    yield { field: `${field}.path`, found: shown(path), allowed: 'keys with dots between them, e.g. "files.0.path"' };
  }
  if (typeof test.value === "string" && test.value.length > policyLimits.textCharacters) {
    const allowed = `at most ${policyLimits.textCharacters} characters`;
    yield { field: `${field}.${test.kind}`, found: `${test.value.length} characters`, allowed };
  } else if (test.kind === "matches") {
    const fault = patternFault(test.value);
    if (fault !== undefined) yield { field: `${field}.matches`, found: fault, allowed: "an RE2 regular expression" };
  } else if (test.kind === "equals_json" && !isJson(test.value)) {
    yield { field: `${field}.equals_json`, found: shown(test.value), allowed: "JSON" };
  } else if (typeof test.value === "number" && !Number.isFinite(test.value)) {
    yield { field: `${field}.${test.kind}`, found: String(test.value), allowed: "a finite number" };
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
