/** What a rule does to a call that it fits. */
export type PolicyEffect = "allow" | "ask" | "deny";

/** What is asked of the value at a path. */
export type ArgumentTest =
  /** Equal as JSON; the order of an object's keys is nothing. */
  | { readonly kind: "equals_json"; readonly value: string }
  /** A linear-time regular expression that the value, as text, matches somewhere. */
  | { readonly kind: "matches"; readonly value: string }
  | { readonly kind: "starts_with"; readonly value: string }
  /** Of numbers; nothing else is less or greater. */
  | { readonly kind: "less_than"; readonly value: number }
  | { readonly kind: "greater_than"; readonly value: number }
  | { readonly kind: "present"; readonly value: boolean };

/** A condition on one argument. What is not there passes no test but `present: false`. */
export interface ArgumentCondition {
  /** Keys and indexes with dots between them, e.g. `files.0.path`. */
  readonly path: string;
  readonly test: ArgumentTest;
  /** The opposite must hold. */
  readonly negate: boolean;
}

/** One rule of a tenant. */
export interface Policy {
  readonly name: string;
  /** Higher is asked first; of equals, the smaller name. */
  readonly priority: number;
  readonly effect: PolicyEffect;
  /** Empty fits every agent. */
  readonly agent: string;
  /** Name of a tool; `*` stands for any run of characters. */
  readonly tool: string;
  /** All must hold. */
  readonly conditions: readonly ArgumentCondition[];
  readonly reason: string;
  /** Of an ask: milliseconds until it is denied. */
  readonly expiresMs: number;
  readonly approverNotRequester: boolean;
  /** Of an allow of a shell tool: the only commands that may occur; empty for no such rule. */
  readonly allowedCommands: readonly string[];
  /** Somebody is asked before a call is sent again whose outcome is unknown; an ask always does. */
  readonly askIfUnknown: boolean;
}

/** A call as a rule sees it. */
export interface JudgedCall {
  readonly agent: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Matches a text by a linear-time pattern that was checked when its rule was written. */
export type PatternMatcher = (pattern: string, text: string) => boolean;

/** The order in which rules are asked. */
export function inOrder(policies: readonly Policy[]): readonly Policy[] {
  return [...policies].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
}

/** The rule that decides on a call: the first in order that fits; undefined where none does, and the call is allowed. */
export function decidingRule(
  ordered: readonly Policy[],
  call: JudgedCall,
  matches: PatternMatcher,
): Policy | undefined {
  return ordered.find(
    (policy) =>
      (policy.agent === "" || policy.agent === call.agent) &&
      fitsName(policy.tool, call.tool) &&
      policy.conditions.every((condition) => holds(condition, call.args, matches)),
  );
}

/** True where `name` is what `pattern` says, `*` standing for any run of characters. Never slower than their product. */
export function fitsName(pattern: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let retryAt = 0;
  let place = 0;
  while (place < name.length) {
    if (pattern[at] === "*") {
      star = at++;
      retryAt = place;
    } else if (pattern[at] === name[place]) {
      at++;
      place++;
    } else if (star >= 0) {
      at = star + 1;
      place = ++retryAt;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

/** JSON with the keys of every object in order: equal values have equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonicalJson(part)}`).join(",")}}`;
}

function holds({ path, test, negate }: ArgumentCondition, args: unknown, matches: PatternMatcher): boolean {
  return passes(valueAt(path, args), test, matches) !== negate;
}

function passes(found: unknown, test: ArgumentTest, matches: PatternMatcher): boolean {
  if (found === undefined) return test.kind === "present" && !test.value;
  switch (test.kind) {
    case "present":
      return test.value;
    case "equals_json":
      return canonicalJson(found) === canonicalJson(JSON.parse(test.value));
    case "matches":
      return matches(test.value, textOf(found));
    case "starts_with":
      return textOf(found).startsWith(test.value);
    case "less_than":
      return typeof found === "number" && found < test.value;
    case "greater_than":
      return typeof found === "number" && found > test.value;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : canonicalJson(value);
}

/** Own properties and elements alone; undefined where there is none. */
function valueAt(path: string, args: unknown): unknown {
  let value = args;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
