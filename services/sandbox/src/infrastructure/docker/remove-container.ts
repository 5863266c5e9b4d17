import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { statusOf } from "./engine-errors.ts";

const gone = new Set([404]);
const goneOrGoing = new Set([404, 409]);
const attempts = 100;

/**
 * Removes a container, running or not, with its volumes, and proves that the engine does not know it
 * any more. Gone already or being removed by somebody else is success. Throws what the engine said
 * last where it is still there after about ten seconds.
 */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  const container = docker.getContainer(id);
  let last: unknown = new Error(`The container ${id} is still there.`);
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      await tolerate(goneOrGoing, container.remove({ force: true, v: true }));
      if (!(await exists(container))) return;
    } catch (error) {
      last = error;
      if (statusOf(error) === undefined) throw error;
    }
    await sleep(Math.min(10 * (attempt + 1), 100));
  }
  throw last;
}

/** Kills a container; one that has exited or is gone is success. */
export async function killContainer(container: Docker.Container): Promise<void> {
  await tolerate(goneOrGoing, container.kill({ signal: "SIGKILL" }));
}

async function exists(container: Docker.Container): Promise<boolean> {
  return (await tolerate(gone, container.inspect())) !== undefined;
}

async function tolerate<T>(statuses: ReadonlySet<number>, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (statuses.has(statusOf(error) ?? 0)) return undefined;
    throw error;
  }
}
