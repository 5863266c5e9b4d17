import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import type {
  AgentSchema,
  AgentService,
  Agent as ProtoAgent,
  Verifier as ProtoVerifier,
  VerifierSchema,
} from "@drover/proto/orchestrator/v1/agent_service";
import type { Budgets } from "@drover/proto/orchestrator/v1/task";
import { callerOf } from "@drover/rpc";
import { deleteAgent, getAgent, listAgents, putAgent } from "../application/manage-agents.ts";
import type { AgentStore } from "../application/ports.ts";
import {
  type Agent,
  type AgentBudgets,
  type AgentCatalog,
  type AgentSnapshot,
  defaultReworks,
  type Verifier,
} from "../domain/agent.ts";

type AgentRpcs = Pick<ServiceImpl<typeof AgentService>, "putAgent" | "getAgent" | "listAgents" | "deleteAgent">;

/** What the rpcs about agents need. */
export interface AgentParts {
  readonly store: AgentStore;
  readonly catalog: AgentCatalog;
}

/** The rpcs of AgentService that are about agents. */
export function agentRpcs(parts: AgentParts): AgentRpcs {
  const { store } = parts;
  return {
    async putAgent({ agent, expectedVersion }, context) {
      if (agent === undefined) throw invalidField("agent", "nothing", "an agent");
      if (expectedVersion < 0n || expectedVersion > BigInt(Number.MAX_SAFE_INTEGER)) {
        throw invalidField("expected_version", String(expectedVersion), "0 or the version that was read");
      }
      const request = { name: agent.name, body: snapshotOf(agent), expectedVersion: Number(expectedVersion) };
      return { agent: agentMessage(await putAgent(parts, callerOf(context), request)) };
    },
    async getAgent({ name }, context) {
      return { agent: agentMessage(await getAgent(store, callerOf(context).tenant, name)) };
    },
    async listAgents({ pageSize, pageToken }, context) {
      const page = await listAgents(store, callerOf(context).tenant, { pageSize, pageToken });
      return { agents: page.agents.map(agentMessage), nextPageToken: page.nextPageToken };
    },
    async deleteAgent({ name }, context) {
      await deleteAgent(store, callerOf(context).tenant, name);
      return {};
    },
  };
}

function snapshotOf(agent: ProtoAgent): AgentSnapshot {
  return {
    prompt: agent.prompt,
    model: agent.model,
    tools: [...new Set(agent.tools)],
    budgets: budgetsOf(agent.budgets),
    verifier: verifierOf(agent.verifier),
    maxReworks: reworksOf(agent.verifier?.maxReworks ?? 0),
  };
}

/** Budgets of a request; what is absent is 0. */
function budgetsOf(budgets: Budgets | undefined): AgentBudgets {
  return {
    rounds: budgets?.maxRounds ?? 0,
    wallMs: Number(budgets?.maxWallMs ?? 0n),
    tokens: Number(budgets?.maxTokens ?? 0n),
    costNanoUsd: Number(budgets?.maxCostNanoUsd ?? 0n),
    toolCalls: budgets?.maxToolCalls ?? 0,
    outputTokens: budgets?.maxOutputTokens ?? 0,
  };
}

/** On the wire 0 is the default and -1 never; any other negative number stays wrong. */
function reworksOf(wire: number): number {
  if (wire === 0) return defaultReworks;
  return wire === -1 ? 0 : wire;
}

function verifierOf(verifier: ProtoVerifier | undefined): Verifier {
  const check = verifier?.check;
  switch (check?.case) {
    case undefined:
      return { kind: "default" };
    case "rules": {
      const { mustContain, mustNotContain, mustMatch, minCharacters, maxCharacters, requiresCitation } = check.value;
      return { kind: "rules", mustContain, mustNotContain, mustMatch, minCharacters, maxCharacters, requiresCitation };
    }
    case "jsonSchema":
      return { kind: "json_schema", schema: check.value };
    case "code":
      return { kind: "code", language: check.value.language, code: check.value.code };
    case "model":
      return { kind: "model", model: check.value.model, criteria: check.value.criteria };
  }
}

function agentMessage({ name, body, version, updatedAt, updatedBy }: Agent): MessageInitShape<typeof AgentSchema> {
  const { budgets } = body;
  return {
    name,
    prompt: body.prompt,
    model: body.model,
    tools: [...body.tools],
    budgets: {
      maxRounds: budgets.rounds,
      maxWallMs: BigInt(budgets.wallMs),
      maxTokens: BigInt(budgets.tokens),
      maxCostNanoUsd: BigInt(budgets.costNanoUsd),
      maxToolCalls: budgets.toolCalls,
      maxOutputTokens: budgets.outputTokens,
    },
    verifier: { check: checkMessage(body.verifier), maxReworks: body.maxReworks === 0 ? -1 : body.maxReworks },
    version: BigInt(version),
    updatedAt: timestampFromDate(updatedAt),
    updatedBy,
  };
}

type CheckMessage = NonNullable<MessageInitShape<typeof VerifierSchema>["check"]>;

function checkMessage(verifier: Verifier): CheckMessage {
  switch (verifier.kind) {
    case "default":
      return { case: undefined };
    case "rules": {
      const { kind: _, mustContain, mustNotContain, mustMatch, ...rest } = verifier;
      const lists = { mustContain: [...mustContain], mustNotContain: [...mustNotContain], mustMatch: [...mustMatch] };
      return { case: "rules", value: { ...lists, ...rest } };
    }
    case "json_schema":
      return { case: "jsonSchema", value: verifier.schema };
    case "code":
      return { case: "code", value: { language: verifier.language, code: verifier.code } };
    case "model":
      return { case: "model", value: { model: verifier.model, criteria: verifier.criteria } };
  }
}
