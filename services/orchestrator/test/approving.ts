import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Policy, PolicyEffect, type PolicySchema } from "@drover/proto/orchestrator/v1/agent_service";
import { type Approval, ApprovalState, Decision } from "@drover/proto/orchestrator/v1/approval_service";
import type { Replica } from "./harness.ts";

const scopes = ["tasks:read", "tasks:write", "approvals:read", "approvals:decide", "policies:read", "policies:write"];

/** On behalf of somebody who may do everything about decisions. */
export function decider(replica: Replica, tenant: string, subject = "bob") {
  return replica.as(tenant, scopes, subject);
}

/** Writes a rule; run_code must be approved where nothing else is said. */
export async function rule(
  replica: Replica,
  tenant: string,
  fields: MessageInitShape<typeof PolicySchema> = {},
): Promise<Policy | undefined> {
  const policy = { name: "careful", effect: PolicyEffect.ASK, tool: "run_code", reason: "code runs", ...fields };
  return (await replica.agents.putPolicy({ policy }, decider(replica, tenant))).policy;
}

/** The approvals of a task that wait, oldest first, once there are `count` of them. */
export async function pending(
  replica: Replica,
  tenant: string,
  taskId: string,
  count = 1,
): Promise<readonly [Approval, ...Approval[]]> {
  for (;;) {
    const query = { taskId, states: [ApprovalState.PENDING] };
    const { approvals } = await replica.approvals.listApprovals(query, decider(replica, tenant));
    const [first, ...rest] = [...approvals].reverse();
    if (first !== undefined && rest.length + 1 >= count) return [first, ...rest];
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

interface Deciding {
  readonly deny?: boolean;
  readonly subject?: string;
  readonly comment?: string;
  readonly edited?: string;
  readonly hash?: string;
}

/** Decides an approval. */
export async function decide(replica: Replica, tenant: string, approval: Approval, how: Deciding = {}) {
  const request = {
    approvalId: approval.id,
    decision: how.deny === true ? Decision.DENY : Decision.APPROVE,
    argumentsHash: how.hash ?? approval.argumentsHash,
    comment: how.comment ?? "",
    editedArguments: how.edited ?? "",
  };
  return (await replica.approvals.decideApproval(request, decider(replica, tenant, how.subject))).approval;
}

/** A call of run_code. */
export const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });
