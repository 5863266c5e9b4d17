import type { Clock } from "@drover/kernel";
import { withPatience } from "./patience.ts";
import type { Judge, PolicyBook } from "./policy-book.ts";
import { leaseLost, type TaskSession } from "./task-session.ts";

/** What reading the rules needs. */
export interface RuleParts {
  readonly clock: Clock;
  /** Patience with the database, ms. */
  readonly patienceMs: number;
  readonly policies: Pick<PolicyBook, "judgeOf">;
}

/** A judge by the rules of now. Where they cannot be read, the task is given back: nothing runs unjudged. */
export async function readRules(
  { clock, patienceMs, policies }: RuleParts,
  { task, control }: TaskSession,
): Promise<Judge> {
  try {
    return await withPatience({ totalMs: patienceMs, clock }, control.signal, () => policies.judgeOf(task.tenant));
  } catch (cause) {
    if (control.signal.aborted) throw cause;
    throw leaseLost(cause);
  }
}
