import { readdir, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const rounds = 50;

/** Signals a program and what it started in its process group; one that is gone is no error. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // Gone already.
  }
}

/**
 * Kills every process that works in the folder, also those that left their group, until none is left. What moved to
 * another folder and another group is not found: a host has no wall around a program.
 */
export async function killAllIn(folder: string): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const pids = await processesIn(folder);
    if (pids.length === 0) return;
    for (const pid of pids) kill(pid);
    await sleep(10);
  }
}

async function processesIn(folder: string): Promise<number[]> {
  const entries = await readdir("/proc").catch((): string[] => []);
  const pids = entries.map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => "");
      return cwd === folder || cwd.startsWith(`${folder}/`) || cwd === `${folder} (deleted)` ? [pid] : [];
    }),
  );
  return found.flat();
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}
