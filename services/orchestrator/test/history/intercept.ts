import { appendFileSync } from "node:fs";
import type { Claim, CommitOutcome, TaskChange, TaskSignals, TaskStore } from "../../src/application/ports.ts";
import { isTerminal } from "../../src/domain/task-state.ts";
import type { RecordParts } from "../../src/wiring.ts";
import type { OwnerEntry } from "./history.ts";

/** What a commit is for: the five writes of a task's life. */
type CommitKind = "start" | "turn" | "dispatch" | "result" | "end";

/** A named place in the loop. */
export type Failpoint = "after-claim" | `${"before" | "after"}-${CommitKind | "publish"}`;

/** Every failpoint, in the order in which a task with one round of calls meets them. */
export const failpoints: readonly Failpoint[] = [
  "after-claim",
  ...(["start", "turn", "dispatch", "result", "end", "publish"] as const).flatMap((kind): Failpoint[] => [
    `before-${kind}`,
    `after-${kind}`,
  ]),
];

/** How a replica under test fails. */
export interface InterceptPlan {
  readonly owner: string;
  /** File that gets an {@link OwnerEntry} a line. */
  readonly logFile: string;
  /** The process kills itself with SIGKILL when it comes to the failpoint for the n-th time. */
  readonly failAt?: { readonly point: Failpoint; readonly hit: number };
  /** Signals are sent late and twice, by this seed. */
  readonly disturbBus?: number;
}

/** Writes down what the replica holds and commits, and kills the process where the plan says so. */
export function intercept(plan: InterceptPlan, { store, signals }: RecordParts): RecordParts {
  let left = plan.failAt?.hit ?? 0;
  const reach = (point: Failpoint) => {
    if (plan.failAt?.point === point && --left === 0) process.kill(process.pid, "SIGKILL");
  };
  const note = ({ taskId, epoch }: Claim, version: number) => {
    const entry: OwnerEntry = { owner: plan.owner, taskId, epoch, version };
    appendFileSync(plan.logFile, `${JSON.stringify(entry)}\n`);
  };
  const watchedStore: TaskStore = {
    ...store,
    async claim(owner, options) {
      const claims = await store.claim(owner, options);
      for (const claim of claims) {
        note(claim, 0);
        reach("after-claim");
      }
      return claims;
    },
    async commit(claim, version, change): Promise<CommitOutcome> {
      const kind = kindOf(change);
      if (kind !== undefined) reach(`before-${kind}`);
      const outcome = await store.commit(claim, version, change);
      if (outcome.outcome === "committed") note(claim, outcome.version);
      if (kind !== undefined) reach(`after-${kind}`);
      return outcome;
    },
  };
  const watchedSignals: TaskSignals = {
    ...signals,
    committed(...told) {
      reach("before-publish");
      signals.committed(...told);
      reach("after-publish");
    },
  };
  return { store: watchedStore, signals: watchedSignals };
}

function kindOf({ state, steps, dispatched, results }: TaskChange): CommitKind | undefined {
  if (state !== undefined && isTerminal(state.to)) return "end";
  if (dispatched !== undefined) return "dispatch";
  if (results !== undefined) return "result";
  if (steps?.some(({ body }) => body.kind === "turn")) return "turn";
  return state?.to === "RUNNING" ? "start" : undefined;
}
