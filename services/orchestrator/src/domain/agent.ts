import { type FieldViolation, invalidFields } from "@drover/kernel";
import { isForeignName } from "./foreign-tools.ts";
import type { TaskBudgets } from "./task.ts";

/** Bounds of an agent. */
const agentLimits = Object.freeze({
  promptCharacters: 20_000,
  criteriaCharacters: 10_000,
  codeCharacters: 100_000,
  schemaCharacters: 100_000,
  rules: 50,
  ruleCharacters: 500,
  tools: 64,
  maxReworks: 5,
  maxRounds: 50,
  maxWallMs: 7 * 24 * 3_600_000,
  maxTokens: 1_000_000_000,
  maxCostNanoUsd: 1_000_000_000_000_000,
  maxToolCalls: 100_000,
  maxOutputTokens: 1_000_000,
});

/** How often an answer is sent back where the agent does not say. */
export const defaultReworks = 2;

/** What an answer is checked by beside the rules that always hold. */
export type Verifier =
  | { readonly kind: "default" }
  | {
      readonly kind: "rules";
      readonly mustContain: readonly string[];
      readonly mustNotContain: readonly string[];
      /** Linear-time regular expressions. */
      readonly mustMatch: readonly string[];
      /** 0 is no bound. */
      readonly minCharacters: number;
      readonly maxCharacters: number;
      readonly requiresCitation: boolean;
    }
  | { readonly kind: "json_schema"; readonly schema: string }
  | { readonly kind: "code"; readonly language: string; readonly code: string }
  /** `model` empty is the task's model. */
  | { readonly kind: "model"; readonly model: string; readonly criteria: string };

/** Budgets of an agent; 0 means the service's default. */
export interface AgentBudgets extends TaskBudgets {
  readonly rounds: number;
}

/** What an agent is, without its name; a task keeps it as it was at its submission. */
export interface AgentSnapshot {
  /** Added to the service's own system prompt. */
  readonly prompt: string;
  /** Empty is the service's default model. */
  readonly model: string;
  /** Names of the tools on offer; empty is all. */
  readonly tools: readonly string[];
  readonly budgets: AgentBudgets;
  readonly verifier: Verifier;
  /** How often an answer is sent back; never negative. */
  readonly maxReworks: number;
}

/** An agent as it is kept. */
export interface Agent {
  readonly name: string;
  readonly body: AgentSnapshot;
  /** Grows with every change. */
  readonly version: number;
  readonly updatedAt: Date;
  readonly updatedBy: string;
}

/** The agent of a task that names none. */
export const defaultAgent: AgentSnapshot = Object.freeze({
  prompt: "",
  model: "",
  tools: [],
  budgets: { rounds: 0, wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 },
  verifier: { kind: "default" } as const,
  maxReworks: defaultReworks,
});

/** The agent that a task keeps; the default one where it keeps none. */
export function agentOf(task: { readonly agentBody: Readonly<Record<string, unknown>> }): AgentSnapshot {
  return { ...defaultAgent, ...task.agentBody };
}

/** What an agent may name. */
export interface AgentCatalog {
  readonly tools: readonly string[];
  readonly languages: readonly string[];
  /** What is wrong with a JSON Schema; undefined where nothing is. */
  readonly schemaFault: (schema: string) => string | undefined;
  /** What is wrong with a regular expression; undefined where nothing is. */
  readonly patternFault: (pattern: string) => string | undefined;
}

const agentName = /^[A-Za-z0-9._-]{1,64}$/;

/** Throws INVALID_ARGUMENT for what is no name of an agent. */
export function checkAgentName(name: string, field: string): void {
  const faults = nameFaults(name, field);
  if (faults.length > 0) throw invalidFields(faults);
}

/** Throws INVALID_ARGUMENT that lists every fault of an agent at once. */
export function checkAgent(name: string, body: AgentSnapshot, catalog: AgentCatalog): void {
  const faults = [
    ...nameFaults(name, "agent.name"),
    ...longer("agent.prompt", body.prompt, agentLimits.promptCharacters),
    ...modelFaults("agent.model", body.model),
    ...toolFaults(body.tools, catalog),
    ...budgetFaults("agent.budgets", body.budgets),
    ...verifierFaults(body.verifier, catalog),
    ...range("agent.verifier.max_reworks", body.maxReworks, agentLimits.maxReworks),
  ];
  if (faults.length > 0) throw invalidFields(faults);
}

/** The faults of budgets, each by its proto name under `field`. */
export function budgetFaults(field: string, budgets: AgentBudgets): FieldViolation[] {
  return [
    ...range(`${field}.max_rounds`, budgets.rounds, agentLimits.maxRounds),
    ...range(`${field}.max_wall_ms`, budgets.wallMs, agentLimits.maxWallMs),
    ...range(`${field}.max_tokens`, budgets.tokens, agentLimits.maxTokens),
    ...range(`${field}.max_cost_nano_usd`, budgets.costNanoUsd, agentLimits.maxCostNanoUsd),
    ...range(`${field}.max_tool_calls`, budgets.toolCalls, agentLimits.maxToolCalls),
    ...range(`${field}.max_output_tokens`, budgets.outputTokens, agentLimits.maxOutputTokens),
  ];
}

function verifierFaults(verifier: Verifier, catalog: AgentCatalog): FieldViolation[] {
  const at = "agent.verifier";
  switch (verifier.kind) {
    case "default":
      return [];
    case "rules":
      return ruleFaults(`${at}.rules`, verifier, catalog);
    case "json_schema": {
      const long = longer(`${at}.json_schema`, verifier.schema, agentLimits.schemaCharacters);
      if (long.length > 0) return long;
      const fault = catalog.schemaFault(verifier.schema);
      return fault === undefined ? [] : [{ field: `${at}.json_schema`, found: fault, allowed: "one JSON Schema" }];
    }
    case "code": {
      const known = catalog.languages.includes(verifier.language);
      const allowed = `one of ${catalog.languages.join(", ")}`;
      return [
        ...(known ? [] : [{ field: `${at}.code.language`, found: quoted(verifier.language), allowed }]),
        ...required(`${at}.code.code`, verifier.code, agentLimits.codeCharacters),
      ];
    }
    case "model":
      return [
        ...modelFaults(`${at}.model.model`, verifier.model),
        ...required(`${at}.model.criteria`, verifier.criteria, agentLimits.criteriaCharacters),
      ];
  }
}

function ruleFaults(
  at: string,
  rules: Verifier & { readonly kind: "rules" },
  { patternFault }: AgentCatalog,
): FieldViolation[] {
  const lists = {
    must_contain: rules.mustContain,
    must_not_contain: rules.mustNotContain,
    must_match: rules.mustMatch,
  };
  const faults = Object.entries(lists).flatMap(([name, texts]) => [
    ...(texts.length > agentLimits.rules
      ? [{ field: `${at}.${name}`, found: `${texts.length} entries`, allowed: `at most ${agentLimits.rules}` }]
      : []),
    ...texts.flatMap((text, index) => required(`${at}.${name}[${index}]`, text, agentLimits.ruleCharacters)),
  ]);
  const patterns = rules.mustMatch.flatMap((pattern, index) => {
    const fault = patternFault(pattern);
    if (fault === undefined) return [];
    return [{ field: `${at}.must_match[${index}]`, found: fault, allowed: "a regular expression in RE2 syntax" }];
  });
  const { minCharacters, maxCharacters } = rules;
  const crossed = maxCharacters > 0 && minCharacters > maxCharacters;
  return [
    ...faults,
    ...patterns,
    ...range(`${at}.min_characters`, minCharacters, 1_000_000),
    ...range(`${at}.max_characters`, maxCharacters, 1_000_000),
    ...(crossed
      ? [
          {
            field: `${at}.min_characters`,
            found: String(minCharacters),
            allowed: `at most max_characters, ${maxCharacters}`,
          },
        ]
      : []),
  ];
}

function toolFaults(tools: readonly string[], catalog: AgentCatalog): FieldViolation[] {
  if (tools.length > agentLimits.tools) {
    return [{ field: "agent.tools", found: `${tools.length} names`, allowed: `at most ${agentLimits.tools}` }];
  }
  return tools.flatMap((tool, index) =>
    catalog.tools.includes(tool) || isForeignName(tool)
      ? []
      : [
          {
            field: `agent.tools[${index}]`,
            found: quoted(tool),
            allowed: `one of ${catalog.tools.join(", ")}, or <server>__<tool>`,
          },
        ],
  );
}

function nameFaults(name: string, field: string): FieldViolation[] {
  if (agentName.test(name)) return [];
  return [{ field, found: quoted(name), allowed: "1 to 64 letters, digits, ., _ and -" }];
}

const modelName = /^[\p{L}\p{N}][\p{L}\p{N} ._:/@+-]{0,127}$/u;

function modelFaults(field: string, model: string): FieldViolation[] {
  if (model === "" || modelName.test(model)) return [];
  return [{ field, found: quoted(model), allowed: "a name of at most 128 letters, digits and ._:/@+-" }];
}

function longer(field: string, text: string, most: number): FieldViolation[] {
  return text.length <= most ? [] : [{ field, found: `${text.length} characters`, allowed: `at most ${most}` }];
}

function required(field: string, text: string, most: number): FieldViolation[] {
  if (text.trim() !== "") return longer(field, text, most);
  return [{ field, found: "no text", allowed: `1 to ${most} characters` }];
}

function range(field: string, value: number, most: number): FieldViolation[] {
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return [];
  return [{ field, found: String(value), allowed: `0 to ${most}` }];
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
