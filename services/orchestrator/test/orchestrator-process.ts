import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Environment } from "@drover/runtime";
import type { InterceptPlan } from "./history/intercept.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const interceptedMain = fileURLToPath(new URL("./history/intercepted-main.ts", import.meta.url));

/** An orchestrator in a process of its own, so that a test can kill it like a machine fails. */
export interface OrchestratorProcess extends AsyncDisposable {
  readonly address: string;
  kill(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void;
  readonly exited: Promise<number | null>;
}

/** Starts the service's own `main.ts`, or with a plan the one that fails by it, and waits until it serves. */
export async function startOrchestratorProcess(
  environment: Environment,
  plan?: InterceptPlan,
): Promise<OrchestratorProcess> {
  const program = plan === undefined ? [main] : [interceptedMain, JSON.stringify(plan)];
  const child = spawn(process.execPath, program, {
    env: { PATH: process.env.PATH, ...environment, DROVER_LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const address = await serving(child, exited);
  return {
    address,
    kill: (signal) => child.kill(signal),
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function serving(child: ChildProcess, exited: Promise<unknown>): Promise<string> {
  const { stdout } = child;
  if (stdout === null) throw new Error("no standard output");
  const ready = Promise.withResolvers<string>();
  const said: string[] = [];
  // Reading goes on for as long as the process lives, or it would block on a full pipe.
  createInterface({ input: stdout }).on("line", (line) => {
    said.push(line);
    if (line.includes('"message":"serving"')) ready.resolve(String(JSON.parse(line).address));
  });
  exited.then(() => ready.reject(new Error(`the orchestrator ended:\n${said.join("\n")}`))).catch(() => undefined);
  return await ready.promise;
}
