import type { TaskLog } from "./step.ts";

/** The form in which each tool of a server was last offered in a task, from its log alone. */
export function pinsOf(log: TaskLog): ReadonlyMap<string, string> {
  const pins = new Map<string, string>();
  for (const { body } of log.steps) {
    if (body.kind !== "turn" && body.kind !== "nudge") continue;
    for (const [name, digest] of Object.entries(body.pins ?? {})) pins.set(name, digest);
  }
  return pins;
}

/** The tools that a task has found and loaded. */
export function loadedTools(log: TaskLog): ReadonlySet<string> {
  return new Set(log.steps.flatMap(({ body }) => (body.kind === "results" ? (body.loaded ?? []) : [])));
}

/** Code of the nudge that tells the model of changed tools. */
export const changedCode = "TOOLS_CHANGED";

/** What the model is told of tools that are no longer what it was offered. */
export function changedText(names: readonly string[]): string {
  const listed = names.join(", ");
  return `These tools have changed since they were offered to you: ${listed}. Read their descriptions and parameters again before you call them; nothing you know of their old form counts any more.`;
}

/** Results in which find_tools names what it loads. */
const loadedPrefix = "tool://";

/** The address by which a result names a tool that is to be loaded. */
export function loadedAddress(name: string): string {
  return `${loadedPrefix}${name}`;
}

/** The tools that the artifacts of a result of find_tools name. */
export function loadedBy(artifacts: readonly string[]): readonly string[] {
  return artifacts.flatMap((one) => (one.startsWith(loadedPrefix) ? [one.slice(loadedPrefix.length)] : []));
}
