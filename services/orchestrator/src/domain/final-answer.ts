import { type BudgetKind, exhaustedText, type Spender } from "./budget.ts";

/** What the model is told when a budget is used up. */
export function lastAnswerRequest(task: Spender, limit: BudgetKind): string {
  return `This task has reached ${exhaustedText(task, limit)} and no tool can be called any more. Give your final answer now from what you have found. Say plainly what is established, by which evidence, and what you could not find out.`;
}

/** The answer as it is recorded: one that was forced by a budget says so in its first line. */
export function markedAnswer(text: string, task: Spender, limit: BudgetKind | undefined): string {
  if (limit === undefined) return text;
  return `[Stopped at ${exhaustedText(task, limit)}; this answer may be incomplete.]\n\n${text}`;
}

/** What the model is told after a turn that gives nothing to work with. */
export function nudgeAfter(decision: "empty" | "length"): string {
  return decision === "empty"
    ? "Your last turn was empty. Call a tool, or give your answer."
    : "Your last turn was cut at the output limit and nothing of its calls was run. Be briefer: call fewer tools at once, write smaller arguments, or give a shorter answer.";
}
