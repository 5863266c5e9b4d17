import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environment } from "@drover/runtime";
import { SuiteFailure } from "./failure.ts";
import type { ServiceName } from "./service-names.ts";

const root = resolve(import.meta.dirname, "../..");

/**
 * Starts one service from its own `main.ts` as a process. Its log goes to `logFile`. A detached
 * process outlives this one.
 */
export function spawnService(
  name: ServiceName,
  environment: Environment,
  options: { readonly logFile: string; readonly detached: boolean },
): ChildProcess {
  return spawnProcess(`services/${name}/src/main.ts`, environment, options);
}

/** Starts a program of this repository as a process; see {@link spawnService}. */
export function spawnProcess(
  program: string,
  environment: Environment,
  options: { readonly logFile: string; readonly detached: boolean },
): ChildProcess {
  const log = openSync(options.logFile, "a", 0o600);
  const child = spawn(process.execPath, [resolve(root, program)], {
    cwd: root,
    env: { ...environment },
    stdio: ["ignore", log, log],
    detached: options.detached,
  });
  closeSync(log);
  if (options.detached) child.unref();
  return child;
}

/**
 * Waits until the admin server at `adminAddress` says ready. Rejects after `timeoutMs`, or at once
 * when `isAlive` says that the process has gone, naming the log to look at.
 */
export async function untilReady(
  name: ServiceName,
  adminAddress: string,
  options: { readonly timeoutMs: number; readonly logFile: string; readonly isAlive: () => boolean },
): Promise<void> {
  const until = performance.now() + options.timeoutMs;
  for (;;) {
    if (await answersReady(adminAddress)) return;
    if (!options.isAlive()) {
      throw new SuiteFailure(`${name} has ended while starting.`, `Its log says why: ${options.logFile}.`);
    }
    if (performance.now() > until) {
      throw new SuiteFailure(
        `${name} was not ready after ${options.timeoutMs} ms.`,
        `Its log says why: ${options.logFile}.`,
      );
    }
    await sleep(100);
  }
}

async function answersReady(adminAddress: string): Promise<boolean> {
  try {
    const response = await fetch(`http://${adminAddress}/readyz`, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** Ends a child with SIGTERM, and with SIGKILL when it is still there after `graceMs`. */
export async function endProcess(child: ChildProcess, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await ended;
  clearTimeout(timer);
}
