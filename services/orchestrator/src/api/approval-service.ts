import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import {
  type ApprovalSchema,
  type ApprovalService,
  Decision,
  ApprovalState as ProtoState,
} from "@drover/proto/orchestrator/v1/approval_service";
import { callerOf } from "@drover/rpc";
import { type DecideParts, decideApproval } from "../application/decide-approval.ts";
import type { Approval } from "../application/decision-ports.ts";
import { listApprovals } from "../application/list-approvals.ts";
import type { ApprovalHubs } from "../application/watch-approvals.ts";
import { type ApprovalState, approvalStates } from "../domain/approval.ts";

/** The rpcs of ApprovalService over the use cases. */
export function createApprovalService(
  parts: DecideParts & { readonly hubs: ApprovalHubs },
): ServiceImpl<typeof ApprovalService> {
  return {
    async listApprovals({ states, taskId, tool, minAgeMs, pageSize, pageToken }, context) {
      const query = { states: states.map(stateOf), taskId, tool, minAgeMs: Number(minAgeMs), pageSize, pageToken };
      const page = await listApprovals(parts.approvals, callerOf(context).tenant, query);
      return { approvals: page.approvals.map(approvalMessage), nextPageToken: page.nextPageToken };
    },
    async *watchApprovals({ afterSequence }, context) {
      const after = Number(afterSequence);
      if (!Number.isSafeInteger(after)) {
        throw invalidField("after_sequence", String(afterSequence), "0 or a sequence that was received");
      }
      for await (const { approval, sequence } of parts.hubs.watch(callerOf(context).tenant, after, context.signal)) {
        const message = approval === undefined ? {} : { approval: approvalMessage(approval) };
        yield { ...message, sequence: BigInt(sequence) };
      }
    },
    async decideApproval({ approvalId, decision, argumentsHash, comment, editedArguments }, context) {
      const request = { approvalId, state: decidedState(decision), argumentsHash, comment, editedArguments };
      return { approval: approvalMessage(await decideApproval(parts, callerOf(context), request)) };
    },
  };
}

function decidedState(decision: Decision): "APPROVED" | "DENIED" {
  if (decision === Decision.APPROVE) return "APPROVED";
  if (decision === Decision.DENY) return "DENIED";
  throw invalidField("decision", String(decision), "APPROVE or DENY");
}

function stateOf(value: number, index: number): ApprovalState {
  const state = approvalStates.find((name) => ProtoState[name] === value);
  if (state === undefined) throw invalidField(`states[${index}]`, String(value), `one of ${approvalStates.join(", ")}`);
  return state;
}

function approvalMessage(approval: Approval): MessageInitShape<typeof ApprovalSchema> {
  const { editedHash, decidedAt, traceId: _, ...rest } = approval;
  return {
    ...rest,
    state: ProtoState[approval.state],
    requestedAt: timestampFromDate(approval.requestedAt),
    expiresAt: timestampFromDate(approval.expiresAt),
    ...(decidedAt === undefined ? {} : { decidedAt: timestampFromDate(decidedAt) }),
    edited: editedHash !== "",
    sequence: BigInt(approval.sequence),
  };
}
