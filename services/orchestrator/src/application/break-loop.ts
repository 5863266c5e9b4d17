import { loopCode, loopNudge, loopVerdict } from "../domain/loop-detection.ts";
import { failTask } from "./end-task.ts";
import type { TaskChange } from "./ports.ts";
import type { TaskSession } from "./task-session.ts";
import type { ToolBox } from "./tool-ports.ts";

const notice = "The same tool calls with the same results were made three times in a row.";

/**
 * Looks whether the work goes round in circles before the model is asked again. The first time the model is told; where
 * it goes on, the task ends as FAILED. The model is told then too, so that a task that is resumed has another try. True
 * where something was done about it.
 */
export async function breakLoop(tools: Pick<ToolBox, "polling">, session: TaskSession): Promise<boolean> {
  const verdict = loopVerdict(session.log, tools.polling);
  if (verdict === "none") return false;
  const nudge = { kind: "nudge", text: loopNudge, code: loopCode } as const;
  const change: TaskChange = { steps: [{ seq: session.lastStep + 1, round: session.task.round, body: nudge }] };
  if (verdict === "warn") {
    await session.commit({ ...change, events: [{ type: "notice", code: loopCode, text: notice }] });
  } else {
    const message = "The model repeated the same tool calls with the same results after it had been told of it.";
    await failTask(session, loopCode, message, change);
  }
  return true;
}
