import { Worker } from "node:worker_threads";
import { DroverError } from "@drover/kernel";
import type { SplitChunk, Splitter } from "../application/ports.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { ChunkSizes } from "../domain/splitter.ts";
import { parsers } from "./parsers.ts";
import type { SplitReply, SplitRequest } from "./split-worker.ts";

/** How large chunks are, and what one document may take. */
export interface SplitterOptions {
  readonly sizes: ChunkSizes;
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

/**
 * Splits in a thread of its own, one document after the other, so that a large one holds up no other
 * call. A document that takes too long or too much memory costs the thread, and the next one gets a
 * new one. Disposing ends the thread; a document that is being split is then CANCELLED.
 */
export function createWorkerSplitter(options: SplitterOptions): Splitter & AsyncDisposable {
  const pairs = parsers.flatMap(({ extensions, mediaType }) => extensions.map((one) => [one, mediaType] as const));
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const run = async (request: SplitRequest, signal: AbortSignal) => {
    signal.throwIfAborted();
    worker ??= startWorker(options.memoryMb);
    try {
      return await ask(worker, request, options.timeoutMs, signal);
    } catch (error) {
      await worker?.terminate();
      worker = undefined;
      if (signal.aborted) throw DroverError.from(signal.reason);
      if (error instanceof SplitLimit) return error.refusal;
      throw DroverError.from(error);
    }
  };
  return {
    mediaTypes: new Map(pairs),
    split(source, extension, signal) {
      const turn = last.then(() => run({ source, extension, sizes: options.sizes }, signal));
      last = turn.catch(() => undefined);
      return turn;
    },
    async [Symbol.asyncDispose]() {
      await worker?.terminate();
    },
  };
}

/** The document is over a limit of the thread. */
class SplitLimit extends Error {
  readonly refusal: Refusal;

  constructor(found: string, allowed: string) {
    super(found);
    this.refusal = { check: "content", found, allowed };
  }
}

function startWorker(memoryMb: number): Worker {
  // The host's own flags (a test runner's loader) are not for the worker.
  const worker = new Worker(new URL("./split-worker.ts", import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  worker.unref();
  return worker;
}

async function ask(
  worker: Worker,
  request: SplitRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly SplitChunk[]> {
  const { promise, resolve, reject } = Promise.withResolvers<SplitReply>();
  const onAbort = () => reject(signal.reason);
  const onError = (error: Error) => reject(limitOf(error));
  const onExit = () => reject(new DroverError("CANCELLED", "The service is stopping."));
  const timer = setTimeout(() => {
    reject(new SplitLimit(`a document that takes longer than ${timeoutMs} ms`, "a smaller or simpler document"));
  }, timeoutMs);
  worker.once("message", resolve).once("error", onError).once("exit", onExit);
  signal.addEventListener("abort", onAbort, { once: true });
  worker.ref();
  try {
    worker.postMessage(request);
    const reply = await promise;
    if ("error" in reply) throw new Error(reply.error);
    return reply.chunks;
  } finally {
    clearTimeout(timer);
    worker.unref();
    worker.off("message", resolve).off("error", onError).off("exit", onExit);
    signal.removeEventListener("abort", onAbort);
  }
}

function limitOf(error: Error): Error {
  const outOfMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return outOfMemory ? new SplitLimit("a document that takes too much memory", "a smaller or simpler document") : error;
}
