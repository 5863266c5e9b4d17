import type { Script } from "@drover/testkit/scripted-model";

/** The programs of a task, round by round, as its prompt. */
export function promptOf(rounds: readonly (readonly string[])[]): string {
  return `PLAN ${JSON.stringify(rounds)}`;
}

/** A model that runs the programs that the prompt lists, round by round, and then answers with what came of them. */
export const plannedScript: Script = (messages) => {
  const prompt = messages.map(({ content }) => String(content)).find((text) => text.startsWith("PLAN "));
  const rounds: readonly (readonly string[])[] = JSON.parse(prompt?.slice("PLAN ".length) ?? "[]");
  const done = messages.filter(
    ({ role, tool_calls: calls }) => role === "assistant" && (calls?.length ?? 0) > 0,
  ).length;
  const round = rounds[done];
  if (round === undefined) return { text: `done after ${done} rounds`, delayMs: 20 };
  const toolCalls = round.map((code) => ({ name: "run_code", arguments: { language: "python", code } }));
  return { toolCalls, delayMs: 20 };
};
