import type { Clock } from "@drover/kernel";
import { withPatience } from "./patience.ts";
import type { Judge, PolicyBook, Rules } from "./policy-book.ts";
import type { TaskChange } from "./ports.ts";
import { leaseLost, type TaskSession } from "./task-session.ts";

/** What reading the rules needs. */
export interface RuleParts {
  readonly clock: Clock;
  /** Patience with the database, ms. */
  readonly patienceMs: number;
  readonly policies: Pick<PolicyBook, "judgeOf" | "rulesOf">;
}

/** A judge by the rules of now. Where they cannot be read, the task is given back: nothing runs unjudged. */
export function readRules(parts: RuleParts, session: TaskSession): Promise<Judge> {
  return patiently(parts, session, () => parts.policies.judgeOf(session.task.tenant));
}

/**
 * Commits what `judged` makes of the rules. It begins with those that are known and goes on with newer ones where the
 * record says that there are any. Where none can be read, the task is given back.
 */
export async function commitJudged(
  parts: RuleParts,
  session: TaskSession,
  judged: (judge: Judge) => TaskChange,
): Promise<void> {
  for (let stale: number | undefined; ; ) {
    const rules = await patiently(parts, session, () => parts.policies.rulesOf(session.task.tenant, stale));
    if ((await session.commit({ ...judged(rules.judge), rules: rules.version })) !== "rules_changed") return;
    stale = rules.version;
  }
}

async function patiently<T extends Judge | Rules>(
  { clock, patienceMs }: RuleParts,
  { control }: TaskSession,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await withPatience({ totalMs: patienceMs, clock }, control.signal, read);
  } catch (cause) {
    if (control.signal.aborted) throw cause;
    throw leaseLost(cause);
  }
}
