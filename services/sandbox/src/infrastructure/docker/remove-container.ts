import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { statusOf } from "./engine-errors.ts";

const gone = new Set([404]);
const goneOrGoing = new Set([404, 409]);
const attempts = 100;
/** An engine that hangs over a container, as over one whose kernel is gone, must not hold up who waits for its end. */
const answerMs = 10_000;

/**
 * Removes a container, running or not, with its volumes, and proves that the engine does not know it
 * any more. Gone already or being removed by somebody else is success. Throws what the engine said
 * last where it is still there after about ten seconds, or that it gave no answer for as long.
 */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  const container = docker.getContainer(id);
  let last: unknown = new Error(`The container ${id} is still there.`);
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      await tolerate(
        goneOrGoing,
        container.remove({ force: true, v: true, abortSignal: AbortSignal.timeout(answerMs) }),
      );
      if (!(await exists(container))) return;
    } catch (error) {
      last = error;
      if (statusOf(error) === undefined) throw error;
    }
    await sleep(Math.min(10 * (attempt + 1), 100));
  }
  throw last;
}

/** Kills a container; one that has exited or is gone is success. Throws where the engine gives no answer in ten seconds. */
export async function killContainer(container: Docker.Container): Promise<void> {
  await tolerate(goneOrGoing, container.kill({ signal: "SIGKILL", abortSignal: AbortSignal.timeout(answerMs) }));
}

async function exists(container: Docker.Container): Promise<boolean> {
  return (await tolerate(gone, container.inspect({ abortSignal: AbortSignal.timeout(answerMs) }))) !== undefined;
}

async function tolerate<T>(statuses: ReadonlySet<number>, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (statuses.has(statusOf(error) ?? 0)) return undefined;
    throw error;
  }
}
