import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { DroverError } from "@drover/kernel";
import { lockDataFolder } from "./data-lock.ts";

export interface EmbeddedPostgresOptions {
  /** Folder of the data and its lock; made where missing, readable by the user alone. */
  readonly dataDir: string;
  /** TCP port on 127.0.0.1. Default: one that is free. */
  readonly port?: number;
}

/** What the worker is told and tells. */
export interface EmbeddedWorkerData {
  readonly clusterDir: string;
  readonly port: number;
  readonly password: string;
}
export type EmbeddedWorkerMessage =
  | { readonly kind: "ready"; readonly port: number }
  | { readonly kind: "failed"; readonly message: string };

/** A started embedded database. Disposing writes everything out, stops the worker and gives the folder free. */
export interface EmbeddedPostgres extends AsyncDisposable {
  readonly url: string;
}

/** A start takes about 4 s of one core; the rest is for machines that are busy. */
const startTimeoutMs = 120_000;
const stopTimeoutMs = 10_000;

/**
 * Starts PostgreSQL compiled to WebAssembly (with pgvector and pg_trgm) in a worker thread, behind a socket that
 * ordinary clients speak to, on 127.0.0.1 with a password made for this start. Every client is its superuser, and it runs
 * one transaction at a time. FAILED_PRECONDITION when another process uses the folder; what was committed survives a killed
 * process.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = path.resolve(options.dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = lockDataFolder(folder);
  const password = randomUUID();
  const data: EmbeddedWorkerData = { clusterDir: path.join(folder, "cluster"), port: options.port ?? 0, password };
  // The host's own flags (a test runner's loader) are not for the worker.
  const worker = new Worker(new URL("./embedded-worker.ts", import.meta.url), { workerData: data, execArgv: [] });
  try {
    const port = await untilReady(worker);
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      async [Symbol.asyncDispose]() {
        await stop(worker);
        lock[Symbol.dispose]();
      },
    };
  } catch (error) {
    await worker.terminate();
    lock[Symbol.dispose]();
    throw error;
  }
}

function untilReady(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (message: string, cause?: unknown) => {
      clearTimeout(timer);
      reject(new DroverError("UNAVAILABLE", `The embedded database did not start: ${message}`, { cause }));
    };
    const timer = setTimeout(() => fail(`no answer within ${startTimeoutMs} ms.`), startTimeoutMs);
    worker.once("message", (message: EmbeddedWorkerMessage) => {
      if (message.kind === "failed") return fail(message.message);
      clearTimeout(timer);
      resolve(message.port);
    });
    worker.on("error", (error) => fail(error instanceof Error ? error.message : String(error), error));
    worker.once("exit", (code) => fail(`its thread ended with ${code}.`));
  });
}

async function stop(worker: Worker): Promise<void> {
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.postMessage("stop");
  const timer = setTimeout(() => void worker.terminate(), stopTimeoutMs);
  await ended;
  clearTimeout(timer);
}
