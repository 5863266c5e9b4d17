import type { ApprovalState } from "../domain/approval.ts";
import type { Policy } from "../domain/policy.ts";

/** A rule with who wrote it last. */
export interface PolicyRecord {
  readonly policy: Policy;
  readonly updatedAt: Date;
  readonly updatedBy: string;
}

/** The rules of every tenant. Every method may fail with UNAVAILABLE when the database is away. */
export interface PolicyStore {
  /** Undefined: the tenant has `most` others already. */
  put(tenant: string, policy: Policy, actor: string, most: number): Promise<PolicyRecord | undefined>;
  delete(tenant: string, name: string): Promise<void>;
  /** In the order in which they are asked, after a rule of that priority and name. */
  list(
    tenant: string,
    limit: number,
    after: { readonly priority: number; readonly name: string } | undefined,
  ): Promise<readonly PolicyRecord[]>;
  /** The version of a tenant's rules; the rules themselves where it is another than `known`. */
  read(
    tenant: string,
    known: number,
  ): Promise<{ readonly version: number; readonly policies: readonly Policy[] | undefined }>;
}

/** Regular expressions whose matching is linear in the text. */
export interface LinearPatterns {
  /** What is wrong with a pattern; undefined where nothing is. */
  fault(pattern: string): string | undefined;
  /** True where the pattern matches somewhere in the text; a pattern with a fault matches nothing. */
  matches(pattern: string, text: string): boolean;
}

/** An approval as it is recorded. */
export interface Approval {
  readonly id: string;
  readonly taskId: string;
  readonly callId: string;
  readonly tool: string;
  readonly argumentsPreview: string;
  readonly argumentsHash: string;
  readonly state: ApprovalState;
  readonly rule: string;
  readonly reason: string;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
  readonly decidedBy: string;
  readonly decidedAt: Date | undefined;
  readonly comment: string;
  /** Hash of the approver's arguments; empty where there are none. */
  readonly editedHash: string;
  readonly approverNotRequester: boolean;
  /** Of its newest change within the tenant. */
  readonly sequence: number;
  readonly agent: string;
  readonly conversationId: string;
  readonly traceId: string;
}

/** A decision as it is to be recorded. */
export interface NewDecision {
  readonly approvalId: string;
  readonly state: "APPROVED" | "DENIED";
  /** Hash of the arguments that were decided on. */
  readonly argumentsHash: string;
  readonly actor: string;
  readonly comment: string;
  /** The approver's own arguments. */
  readonly edited?: { readonly arguments: string; readonly hash: string; readonly preview: string } | undefined;
}

/** A task that heard of a decision, and how far its log and the tenant's log of approvals go. */
export interface Settled {
  readonly tenant: string;
  readonly taskId: string;
  readonly lastSequence: number;
  readonly sequence: number;
}

/** The approvals of every tenant. Every method may fail with UNAVAILABLE when the database is away. */
export interface ApprovalStore {
  get(tenant: string, approvalId: string): Promise<Approval | undefined>;
  /** Newest first; `before` is the id of the last approval of the page before. */
  list(
    tenant: string,
    query: {
      readonly states: readonly ApprovalState[];
      readonly taskId: string;
      readonly tool: string;
      readonly minAgeMs: number;
    },
    limit: number,
    before: string | undefined,
  ): Promise<readonly Approval[]>;
  /** Each change after a sequence, in order: the approval as it was after it. */
  changes(tenant: string, after: number, limit: number): Promise<readonly Approval[]>;
  /** Sequence of the tenant's newest change; 0 where there is none. */
  newest(tenant: string): Promise<number>;
  decide(
    tenant: string,
    decision: NewDecision,
  ): Promise<{
    readonly outcome: "decided" | "repeated" | "taken" | "not_found" | "changed" | "expired" | "self";
    readonly settled: Settled;
  }>;
  /** Denies what nobody decided in time, of all tenants, a few at a time. */
  expire(): Promise<readonly Settled[]>;
}
