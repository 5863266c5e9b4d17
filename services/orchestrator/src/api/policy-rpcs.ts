import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import {
  type AgentService,
  type PolicySchema,
  type ArgumentCondition as ProtoCondition,
  PolicyEffect as ProtoEffect,
  type Policy as ProtoPolicy,
} from "@drover/proto/orchestrator/v1/agent_service";
import { callerOf } from "@drover/rpc";
import type { PolicyRecord } from "../application/decision-ports.ts";
import { checkCall, deletePolicy, listPolicies, type PolicyParts, putPolicy } from "../application/manage-policies.ts";
import type { ArgumentCondition, ArgumentTest, Policy, PolicyEffect } from "../domain/policy.ts";

type PolicyRpcs = Pick<ServiceImpl<typeof AgentService>, "putPolicy" | "listPolicies" | "deletePolicy" | "checkPolicy">;

/** The rpcs of AgentService that are about policies. */
export function policyRpcs(parts: PolicyParts): PolicyRpcs {
  return {
    async putPolicy({ policy }, context) {
      if (policy === undefined) throw invalidField("policy", "nothing", "a policy");
      return { policy: policyMessage(await putPolicy(parts, callerOf(context), policyOf(policy))) };
    },
    async listPolicies({ pageSize, pageToken }, context) {
      const page = await listPolicies(parts, callerOf(context).tenant, { pageSize, pageToken });
      return { policies: page.records.map(policyMessage), nextPageToken: page.nextPageToken };
    },
    async deletePolicy({ name }, context) {
      await deletePolicy(parts, callerOf(context).tenant, name);
      return {};
    },
    async checkPolicy({ agent, tool, arguments: args }, context) {
      const rule = await checkCall(parts, callerOf(context).tenant, { agent, tool, arguments: args });
      if (rule === undefined) return { effect: ProtoEffect.ALLOW, rule: "", reason: "" };
      return { effect: effects[rule.effect], rule: rule.name, reason: rule.reason };
    },
  };
}

const effects: Readonly<Record<PolicyEffect, ProtoEffect>> = {
  allow: ProtoEffect.ALLOW,
  ask: ProtoEffect.ASK,
  deny: ProtoEffect.DENY,
};

function effectOf(value: ProtoEffect): PolicyEffect {
  switch (value) {
    case ProtoEffect.ALLOW:
      return "allow";
    case ProtoEffect.ASK:
      return "ask";
    case ProtoEffect.DENY:
      return "deny";
    default:
      throw invalidField("policy.effect", String(value), "ALLOW, ASK or DENY");
  }
}

function policyOf(policy: ProtoPolicy): Policy {
  const { name, priority, agent, tool, reason, approverNotRequester, allowedCommands, askIfUnknown } = policy;
  return {
    ...{ name, priority, agent, tool, reason, approverNotRequester, askIfUnknown },
    allowedCommands: [...allowedCommands],
    effect: effectOf(policy.effect),
    conditions: policy.conditions.map(conditionOf),
    expiresMs: Number(policy.expiresMs),
  };
}

function conditionOf({ path, test, negate }: ProtoCondition, index: number): ArgumentCondition {
  return { path, negate, test: testOf(test, index) };
}

function testOf(test: ProtoCondition["test"], index: number): ArgumentTest {
  switch (test.case) {
    case undefined:
      throw invalidField(`policy.conditions[${index}].test`, "nothing", "one test");
    case "equalsJson":
      return { kind: "equals_json", value: test.value };
    case "matches":
      return { kind: "matches", value: test.value };
    case "startsWith":
      return { kind: "starts_with", value: test.value };
    case "lessThan":
      return { kind: "less_than", value: test.value };
    case "greaterThan":
      return { kind: "greater_than", value: test.value };
    case "present":
      return { kind: "present", value: test.value };
  }
}

function policyMessage({ policy, updatedAt, updatedBy }: PolicyRecord): MessageInitShape<typeof PolicySchema> {
  return {
    ...policy,
    effect: effects[policy.effect],
    conditions: policy.conditions.map(({ path, test, negate }) => ({ path, negate, test: testMessage(test) })),
    expiresMs: BigInt(policy.expiresMs),
    allowedCommands: [...policy.allowedCommands],
    updatedAt: timestampFromDate(updatedAt),
    updatedBy,
  };
}

function testMessage(test: ArgumentTest): ProtoCondition["test"] {
  switch (test.kind) {
    case "equals_json":
      return { case: "equalsJson", value: test.value };
    case "matches":
      return { case: "matches", value: test.value };
    case "starts_with":
      return { case: "startsWith", value: test.value };
    case "less_than":
      return { case: "lessThan", value: test.value };
    case "greater_than":
      return { case: "greaterThan", value: test.value };
    case "present":
      return { case: "present", value: test.value };
  }
}
