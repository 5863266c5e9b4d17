/** What the model is told when its rounds are used up. */
export function lastRoundRequest(maxRounds: number): string {
  return `All ${maxRounds} rounds of this task are used up and no tool can be called any more. Give your final answer now from what you have found. Say plainly what is established, by which evidence, and what you could not find out.`;
}

/** The answer as it is recorded: one that was forced by the round limit says so in its first line. */
export function markedAnswer(text: string, last: boolean, maxRounds: number): string {
  return last ? `[Stopped at the limit of ${maxRounds} rounds; this answer may be incomplete.]\n\n${text}` : text;
}

/** What the model is told after a turn that gives nothing to work with. */
export function nudgeAfter(decision: "empty" | "length"): string {
  return decision === "empty"
    ? "Your last turn was empty. Call a tool, or give your answer."
    : "Your last turn was cut at the output limit and nothing of its calls was run. Be briefer: call fewer tools at once, write smaller arguments, or give a shorter answer.";
}
