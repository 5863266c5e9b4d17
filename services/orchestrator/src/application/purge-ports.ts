import type { ErasingService, Purge, PurgeProgress, PurgeStep, PurgeSubject } from "../domain/purge.ts";

/** A removal that this replica goes on with, and the epoch that its writes must name. */
export interface PurgeClaim extends PurgeSubject {
  readonly tenant: string;
  readonly id: string;
  readonly epoch: number;
  readonly requestedBy: string;
}

/** A removal to be recorded. */
export interface NewPurge extends PurgeSubject {
  readonly tenant: string;
  readonly id: string;
  readonly requestId: string;
  readonly bodyHash: string;
  readonly requestedBy: string;
}

/** Tasks of a subject, by the ids under which the other services keep what belongs to them. */
export interface PurgeTargets {
  readonly taskIds: readonly string[];
  readonly workspaceIds: readonly string[];
  readonly traceIds: readonly string[];
}

/** The part of another service; `due` is false while it waits. */
export type OpenPart = PurgeProgress & { readonly service: ErasingService; readonly due: boolean };

/**
 * The record of removals. A method that writes for a claim throws ABORTED, reason LEASE_LOST, where another replica has
 * it; each of them keeps the claim for another lease. Every method may fail with UNAVAILABLE when the database is away.
 */
export interface PurgeStore {
  /** Records a removal with all tasks that its subject has; from then on it is refused new ones. */
  begin(purge: NewPurge): Promise<{ readonly outcome: "created" | "existing" | "conflict"; readonly id: string }>;
  get(tenant: string, purgeId: string): Promise<Purge | undefined>;
  /** The one that has waited longest, of all tenants; what an earlier process named `owner` held comes back at once. */
  claim(owner: string): Promise<PurgeClaim | undefined>;
  /** Tasks of the subject that have not ended: at most `limit` of them, and how many there are. */
  living(claim: PurgeClaim, limit: number): Promise<{ readonly taskIds: readonly string[]; readonly count: number }>;
  /** 0 once the last task has ended `settleMs` ago: then the targets are fixed. Else how long that will take, ms. */
  settle(claim: PurgeClaim, settleMs: number): Promise<number>;
  /** The parts of the other services that are not done. */
  open(claim: PurgeClaim): Promise<readonly OpenPart[]>;
  /** The targets after a position, in order; `position` is that of the last of them, undefined where there is none. */
  targets(
    claim: PurgeClaim,
    after: string | undefined,
    limit: number,
  ): Promise<PurgeTargets & { readonly position: string | undefined; readonly last: boolean }>;
  record(claim: PurgeClaim, step: PurgeStep): Promise<void>;
  /** Says why the removal as a whole waits. */
  explain(claim: PurgeClaim, problem: string): Promise<void>;
  /** Removes some of the orchestrator's own rows; true when none is left and the removal is complete. */
  removeOwn(claim: PurgeClaim, limit: number): Promise<boolean>;
  /** Gives the removal back, to be claimed after `delayMs`; undefined: when the first part is due. */
  release(claim: PurgeClaim, delayMs: number | undefined): Promise<void>;
  /** Removes receipts of removals that were complete so many days ago. */
  forget(days: number): Promise<void>;
}

/** The other services, as far as they remove things. Failures are DroverErrors. */
export interface Erasers {
  /** Removes a part of what a service keeps; `more` is true where it must be called again. Safe to repeat. */
  erase(
    service: ErasingService,
    claim: PurgeClaim,
    targets: PurgeTargets,
    signal: AbortSignal,
  ): Promise<{ readonly removed: number; readonly more: boolean }>;
}
