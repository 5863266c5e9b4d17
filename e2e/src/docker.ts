import { execFileSync } from "node:child_process";

/** Ids of sandbox containers, running or not, that carry the label of this task. */
export function containersOfTask(taskId: string): string[] {
  return docker("--quiet", "--filter", `label=drover.task=${taskId}`);
}

/** Ids of the containers that the sandbox instance of this name made; others on this host are not ours. */
export function containersOf(suite: { readonly instance: string }): string[] {
  const lines = docker("--filter", "label=drover.run", "--format", '{{.ID}} {{.Label "drover.owner"}}');
  return lines.filter((line) => line.includes(` ${suite.instance}/`));
}

function docker(...options: readonly string[]): string[] {
  const listed = execFileSync("docker", ["ps", "--all", ...options], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line !== "");
}
