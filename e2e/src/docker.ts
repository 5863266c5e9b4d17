import { execFileSync } from "node:child_process";

/** Ids of sandbox containers, running or not, that carry the label of this task. */
export function containersOfTask(taskId: string): string[] {
  return containers("--filter", `label=drover.task=${taskId}`);
}

/** Ids of all sandbox containers on this host. */
export function sandboxContainers(): string[] {
  return containers("--filter", "label=drover.run");
}

function containers(...filter: readonly string[]): string[] {
  const ids = execFileSync("docker", ["ps", "--all", "--quiet", ...filter], { encoding: "utf8" });
  return ids.split("\n").filter((id) => id !== "");
}
