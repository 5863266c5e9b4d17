import { type ChildProcess, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { goodKey } from "./fake-gateway.ts";

const root = resolve(import.meta.dirname, "../..");

/** How a run of the real command ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A run of the real command. */
export interface DroverRun {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when standard output has this text. */
  prints(text: string): Promise<void>;
}

/** Starts `drover` as a user does, with the good key unless `environment` says otherwise; nothing of ours is inherited. */
export function startDrover(words: readonly string[], environment: Record<string, string> = {}, input = ""): DroverRun {
  const child = spawn(process.execPath, [join(root, "cli/src/main.ts"), ...words], {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, DROVER_API_KEY: goodKey, ...environment },
  });
  child.stdin.end(input);
  const out: Buffer[] = [];
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<Ended>((settle, reject) => {
    child.on("error", reject);
    child.on("close", (code) => settle({ code, stdout: Buffer.concat(out), stderr }));
  });
  const prints = (text: string) =>
    new Promise<void>((settle, reject) => {
      const look = () => {
        if (Buffer.concat(out).includes(text)) settle();
      };
      look();
      child.stdout.on("data", look);
      child.on("close", () => reject(new Error(`drover ended without printing ${text}: ${stderr}`)));
    });
  return { process: child, ended, prints };
}
