import type { Transport } from "@connectrpc/connect";
import type { LinearPatterns } from "../application/decision-ports.ts";
import type { AnswerChecks } from "../application/ports.ts";
import type { AgentCatalog } from "../domain/agent.ts";
import { codeCheck } from "./code-check.ts";
import { jsonSchemaFault, jsonSchemaFindings } from "./json-schema-check.ts";
import { ruleFindings } from "./rule-check.ts";
import type { CodeLanguages } from "./tools/code-languages.ts";

/** The checks of answers; programs run in the sandbox behind `sandbox`. */
export function createAnswerChecks(sandbox: Transport, patterns: LinearPatterns): AnswerChecks {
  return {
    rules: (rules, answer) => ruleFindings(rules, answer, patterns),
    jsonSchema: jsonSchemaFindings,
    code: codeCheck(sandbox),
  };
}

/** What an agent may name: these tools and languages, and schemas and patterns that the checks can use. */
export function createAgentCatalog(
  tools: readonly string[],
  languages: Pick<CodeLanguages, "current">,
  patterns: LinearPatterns,
): AgentCatalog {
  return {
    ...{ tools, schemaFault: jsonSchemaFault, patternFault: patterns.fault },
    get languages() {
      return languages.current;
    },
  };
}
