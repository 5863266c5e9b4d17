import { DroverError, decodePageToken, encodePageToken, invalidField, pageSize } from "@drover/kernel";
import { isForeignName } from "../domain/foreign-tools.ts";
import type { Policy } from "../domain/policy.ts";
import { checkPolicy, checkPolicyName, policyLimits } from "../domain/policy-faults.ts";
import type { LinearPatterns, PolicyRecord, PolicyStore } from "./decision-ports.ts";
import type { PolicyBook } from "./policy-book.ts";
import type { Requester } from "./submit-task.ts";
import type { ToolBox } from "./tool-ports.ts";

const listScope = "policies";

/** What the use cases of policies need. */
export interface PolicyParts {
  readonly policies: PolicyStore;
  readonly patterns: LinearPatterns;
  readonly book: PolicyBook;
  readonly tools: Pick<ToolBox, "specs">;
}

/** Creates or replaces a rule. INVALID_ARGUMENT with every fault, RESOURCE_EXHAUSTED where the tenant has too many. */
export async function putPolicy(parts: PolicyParts, requester: Requester, policy: Policy): Promise<PolicyRecord> {
  const checked = { ...policy, expiresMs: policy.expiresMs === 0 ? policyLimits.defaultExpiresMs : policy.expiresMs };
  checkPolicy(checked, namesOf(parts), parts.patterns.fault);
  const record = await parts.policies.put(requester.tenant, checked, requester.subject, policyLimits.rules);
  if (record !== undefined) return record;
  throw new DroverError("RESOURCE_EXHAUSTED", `A tenant has at most ${policyLimits.rules} policies.`, {
    reason: "TOO_MANY_POLICIES",
    retryable: false,
  });
}

/** One page of the tenant's rules in the order in which they are asked. INVALID_ARGUMENT for a bad page. */
export async function listPolicies(
  { policies }: Pick<PolicyParts, "policies">,
  tenant: string,
  request: { readonly pageSize: number; readonly pageToken: string },
): Promise<{ readonly records: readonly PolicyRecord[]; readonly nextPageToken: string }> {
  const size = pageSize(request.pageSize);
  const position = decodePageToken(listScope, request.pageToken);
  const after = position === undefined ? undefined : { priority: Number(position[0]), name: position[1] ?? "" };
  if (after !== undefined && !Number.isInteger(after.priority)) {
    throw invalidField("page_token", "a token that was not made here", "the next_page_token of the same list");
  }
  const found = await policies.list(tenant, size + 1, after);
  const records = found.slice(0, size);
  const last = records.at(-1)?.policy;
  const more = found.length > size && last !== undefined;
  return { records, nextPageToken: more ? encodePageToken(listScope, [String(last.priority), last.name]) : "" };
}

/** Removes a rule; again is no error. */
export async function deletePolicy(
  { policies }: Pick<PolicyParts, "policies">,
  tenant: string,
  name: string,
): Promise<void> {
  checkPolicyName(name);
  await policies.delete(tenant, name);
}

/** What would become of a call, by the rule that decides; undefined where none fits. INVALID_ARGUMENT for what cannot be a call. */
export async function checkCall(
  parts: PolicyParts,
  tenant: string,
  call: { readonly agent: string; readonly tool: string; readonly arguments: string },
): Promise<Policy | undefined> {
  const names = namesOf(parts);
  if (!names.includes(call.tool) && !isForeignName(call.tool)) {
    throw invalidField("tool", JSON.stringify(call.tool.slice(0, 80)), `one of ${names.join(", ")}`);
  }
  const judge = await parts.book.judgeOf(tenant);
  return judge({ agent: call.agent, tool: call.tool, args: argumentsOf(call.arguments) });
}

function namesOf({ tools }: Pick<PolicyParts, "tools">): readonly string[] {
  return tools.specs.map(({ name }) => name);
}

function argumentsOf(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw invalidField("arguments", JSON.stringify(text.slice(0, 40)), "one JSON object");
}
