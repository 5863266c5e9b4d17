import { DroverError, headOf, invalidField, isId, notFound } from "@drover/kernel";
import { redact } from "@drover/redaction";
import type { Tracer } from "@drover/tracing";
import { approvalLog } from "../domain/approval.ts";
import { endWait } from "./approval-wait.ts";
import type { Approval, ApprovalStore, NewDecision, Settled } from "./decision-ports.ts";
import { digest } from "./digest.ts";
import type { PolicyBook } from "./policy-book.ts";
import type { TaskSignals } from "./ports.ts";
import type { Requester } from "./submit-task.ts";
import type { ToolCatalog } from "./tool-ports.ts";

/** Characters of a comment, of edited arguments, and of what is shown of them. */
const most = { comment: 500, edited: 1_300_000, preview: 4_096 } as const;

/** What deciding needs. */
export interface DecideParts {
  readonly approvals: ApprovalStore;
  readonly book: PolicyBook;
  readonly catalog: ToolCatalog;
  readonly signals: TaskSignals;
  readonly tracer: Tracer;
}

/** A decision as it came. */
export interface DecisionRequest {
  readonly approvalId: string;
  readonly state: "APPROVED" | "DENIED";
  readonly argumentsHash: string;
  readonly comment: string;
  /** Empty for the model's own. */
  readonly editedArguments: string;
}

/**
 * Decides one approval, by one compare-and-set: of several callers one wins, the same decision again is no error, and
 * another one is ABORTED with the winner. Edited arguments must fit the tool, and the rules as they are now: an edit
 * makes no call possible that a rule denies, or that somebody else would have to approve. See ApprovalService for codes.
 */
export async function decideApproval(
  parts: DecideParts,
  requester: Requester,
  request: DecisionRequest,
): Promise<Approval> {
  checkRequest(request);
  const { tenant, subject } = requester;
  const { approvalId, state, argumentsHash, comment } = request;
  const asked = await parts.approvals.get(tenant, approvalId);
  if (asked === undefined) throw notFound("approval", approvalId);
  const edited = await editOf(request);
  if (asked.state === "PENDING" && edited !== undefined) await checkEdit(parts, requester, asked, edited.arguments);
  const decision = { approvalId, state, argumentsHash, actor: subject, comment, edited };
  const { outcome, settled } = await parts.approvals.decide(tenant, decision);
  if (outcome === "decided") announce(parts.signals, settled);
  const approval = await parts.approvals.get(tenant, approvalId);
  if (approval === undefined) throw notFound("approval", approvalId);
  if (outcome === "decided") tellDecision(parts.tracer, tenant, approval);
  switch (outcome) {
    case "not_found":
      throw notFound("approval", approvalId);
    case "decided":
    case "repeated":
      return approval;
    case "taken":
      throw alreadyDecided(approval);
    case "changed":
      throw new DroverError("ABORTED", "The arguments are others than those that were decided on; look again.", {
        reason: "ARGUMENTS_CHANGED",
        metadata: { arguments_hash: approval.argumentsHash },
      });
    case "expired":
      throw new DroverError(
        "FAILED_PRECONDITION",
        `Nobody decided until ${approval.expiresAt.toISOString()}: denied.`,
        {
          reason: "APPROVAL_EXPIRED",
        },
      );
    case "self":
      throw approverIsRequester();
  }
}

/** Ends the wait for a decision in the trace of its task. */
export function tellDecision(tracer: Tracer, tenant: string, approval: Approval): void {
  const { id: approvalId, taskId, traceId, callId, tool, state, decidedBy: actor, comment } = approval;
  const wait = { tenant, taskId, traceId, approvalId, callId, tool };
  endWait(tracer, wait, { decision: state.toLowerCase(), actor, comment });
}

/** Tells watchers of the task and of the tenant's approvals, and wakes a worker. */
export function announce(signals: TaskSignals, { tenant, taskId, lastSequence, sequence }: Settled): void {
  signals.committed(tenant, taskId, lastSequence);
  signals.committed(tenant, approvalLog, sequence);
  signals.ready(taskId);
}

function checkRequest({ approvalId, state, argumentsHash, comment, editedArguments }: DecisionRequest): void {
  if (!isId(approvalId)) throw invalidField("approval_id", JSON.stringify(approvalId.slice(0, 64)), "an approval's id");
  if (!/^[0-9a-f]{64}$/.test(argumentsHash)) {
    const allowed = "the arguments_hash of the approval that was looked at";
    throw invalidField("arguments_hash", JSON.stringify(argumentsHash.slice(0, 64)), allowed);
  }
  if (comment.length > most.comment) {
    throw invalidField("comment", `${comment.length} characters`, `at most ${most.comment} characters`);
  }
  if (editedArguments === "") return;
  if (state === "DENIED") throw invalidField("edited_arguments", "arguments", "nothing where the call is denied");
  if (editedArguments.length > most.edited) {
    throw invalidField("edited_arguments", `${editedArguments.length} characters`, `at most ${most.edited} characters`);
  }
}

async function editOf({ editedArguments }: DecisionRequest): Promise<NewDecision["edited"]> {
  if (editedArguments === "") return undefined;
  const preview = headOf(redact(editedArguments).text, most.preview);
  return { arguments: editedArguments, hash: await digest(editedArguments), preview };
}

async function checkEdit(
  { book, catalog }: DecideParts,
  { tenant, subject }: Requester,
  { tool, agent, requestedBy }: Approval,
  edited: string,
): Promise<void> {
  using lease = await catalog.lease(tenant);
  const resolved = (lease.digests.has(tool) ? lease.foreign : lease.local).resolve(tool, edited);
  if ("refused" in resolved) {
    throw invalidField("edited_arguments", resolved.refused.summary, `arguments that fit the tool ${tool}`);
  }
  const judge = await book.judgeOf(tenant);
  const rule = judge({ agent, tool, args: resolved.args });
  if (rule?.effect === "deny") {
    throw invalidField(
      "edited_arguments",
      `a call that the policy ${rule.name} denies`,
      "a call that no policy denies",
    );
  }
  if (rule?.effect === "ask" && rule.approverNotRequester && requestedBy === subject) throw approverIsRequester();
}

function alreadyDecided({ state, decidedBy, editedHash }: Approval): DroverError {
  const how = state === "WITHDRAWN" ? "withdrawn" : `${state.toLowerCase()}${editedHash === "" ? "" : " with an edit"}`;
  return new DroverError("ABORTED", `This approval was ${how} by ${decidedBy}.`, {
    reason: "ALREADY_DECIDED",
    retryable: false,
    metadata: { state, decided_by: decidedBy },
  });
}

function approverIsRequester(): DroverError {
  return new DroverError("PERMISSION_DENIED", "Who asked for the task may not approve this call.", {
    reason: "APPROVER_IS_REQUESTER",
  });
}
