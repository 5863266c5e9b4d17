import type { TaskEventBody } from "../domain/task-event.ts";
import type { TaskSession } from "./task-session.ts";

/** Tells watchers of a budget that is used up, where no turn of the model has told it before. */
export function budgetNotice({ log }: TaskSession, text: string): readonly TaskEventBody[] {
  if (log.steps.some((step) => step.body.kind === "turn" && step.body.last)) return [];
  return [{ type: "notice", code: "BUDGET_EXHAUSTED", text }];
}
