import { type FieldViolation, invalidFields, isId } from "@drover/kernel";
import { requestIdFaults } from "./submission.ts";

/** The other services that keep something about tasks, in the order in which a receipt names them. */
export const erasingServices = Object.freeze(["sandbox", "memory", "rag", "trace"] as const);

/** A service that removes what it keeps when it is told to. */
export type ErasingService = (typeof erasingServices)[number];

/** Whose data is removed. `subject` is a conversation's id or a user, empty for the whole tenant. */
export interface PurgeSubject {
  readonly kind: "conversation" | "user" | "tenant";
  readonly subject: string;
}

/** The part of one service in a removal. */
export interface PurgePart {
  readonly service: ErasingService | "orchestrator";
  readonly done: boolean;
  /** Objects removed. */
  readonly removed: number;
  /** Why it is not done yet; empty where nothing is wrong. */
  readonly problem: string;
}

/** A removal and how far it is. */
export interface Purge {
  readonly id: string;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  /** Undefined until every part is done. */
  readonly completedAt: Date | undefined;
  readonly parts: readonly PurgePart[];
}

/** As many characters of a user as an erasure takes. */
const userCharacters = 256;

/** Throws INVALID_ARGUMENT that lists every fault of a removal that is asked for. Undefined: it names no subject. */
export function checkPurge(requestId: string, subject: PurgeSubject | undefined): asserts subject is PurgeSubject {
  const faults = [...requestIdFaults(requestId), ...subjectFaults(subject)];
  if (faults.length > 0) throw invalidFields(faults);
}

function subjectFaults(subject: PurgeSubject | undefined): FieldViolation[] {
  if (subject === undefined) {
    return [{ field: "subject", found: "nothing", allowed: "a conversation_id, a user, or whole_tenant as true" }];
  }
  const { kind, subject: value } = subject;
  if (kind === "conversation" && !isId(value)) {
    return [{ field: "conversation_id", found: JSON.stringify(value.slice(0, 64)), allowed: "a lower-case UUID" }];
  }
  if (kind === "user" && (value === "" || value.length > userCharacters)) {
    const found = value === "" ? "no text" : `${value.length} characters`;
    return [{ field: "user", found, allowed: `1 to ${userCharacters} characters` }];
  }
  return [];
}

const firstBackoffMs = 1_000;
const longestBackoffMs = 300_000;

/** How long a part waits after so many failures of its service (1 is the first): 1 s doubling up to 5 min. */
function purgeBackoffMs(failures: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(failures - 1, 20));
}

/** How far the part of one service is, for who goes on with it. */
export interface PurgeProgress extends PurgePart {
  readonly passes: number;
  /** Removed in the pass that goes on. */
  readonly found: number;
  /** The last target that the pass is through with; undefined at its beginning. */
  readonly position: string | undefined;
  /** In the pass that goes on. */
  readonly failures: number;
}

/** What is to be written about a part; `removed` is added to what there is, and it waits for `waitMs`. */
export interface PurgeStep extends PurgeProgress {
  readonly waitMs: number;
}

/** A pass that removed something, or failed in between, is followed by another one; so many at most. */
const mostPasses = 3;
/** Until it is asked again whether something that still runs in a service has ended, ms. */
const stillRunsMs = 1_000;

/**
 * How a part goes on after a call to its service: the same page again while there is more of it, then the next one. A
 * pass over all pages that found nothing is the last, unless the service failed in it: what came while it was away may
 * reach it only now. Another pass waits for `settleMs`.
 */
export function stepAfter(
  part: PurgeProgress,
  answer: { readonly removed: number; readonly more: boolean },
  page: { readonly position: string | undefined; readonly last: boolean },
  settleMs: number,
): PurgeStep {
  const { service, passes, position, failures } = part;
  const found = part.found + answer.removed;
  const same = { service, passes, found, position, failures, removed: answer.removed, problem: "", done: false };
  if (answer.more) {
    if (answer.removed > 0) return { ...same, waitMs: 0 };
    return { ...same, problem: "Something of the subject still runs there.", waitMs: stillRunsMs };
  }
  if (!page.last) return { ...same, position: page.position, waitMs: 0 };
  const done = (found === 0 && failures === 0) || passes + 1 >= mostPasses;
  return { ...same, passes: passes + 1, found: 0, position: undefined, failures: 0, done, waitMs: done ? 0 : settleMs };
}

/** How a part goes on after its service failed: from where it was, after a wait. */
export function stepAfterFailure(part: PurgeProgress, problem: string): PurgeStep {
  const failures = part.failures + 1;
  return { ...part, removed: 0, failures, problem, waitMs: purgeBackoffMs(failures) };
}
