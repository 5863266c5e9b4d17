import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { type ProcessSuite, startProcessSuite } from "@drover/suite";
import { type FreshDatabase, freshDatabase } from "@drover/testkit";
import { type Script, type ScriptedModel, startScriptedModel } from "@drover/testkit/scripted-model";
import { inject } from "vitest";

export type Profile = "embedded" | "distributed";

/** A running suite, seen from outside. */
export interface SuiteUnderTest extends AsyncDisposable {
  readonly profile: Profile;
  readonly url: string;
  readonly apiKey: string;
  readonly model: ScriptedModel;
  readonly dataFolder: string;
  /** Name of its sandbox instance, which owns its containers. */
  readonly instance: string;
  /** `host:port` of each service's own rpc server. */
  readonly addresses: Readonly<Record<string, string>>;
  /** The six processes; only in the distributed profile. */
  readonly processes?: ProcessSuite;
  /** What the six processes share; only in the distributed profile. */
  readonly database?: FreshDatabase;
  /** Kills the whole suite with SIGKILL and starts it again on the same data; only in the embedded profile. */
  killAndRestart?(): Promise<void>;
}

export interface SuiteOptions {
  readonly script?: Script;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a suite of either profile with a scripted model, in a data folder of its own. */
export async function startSuite(profile: Profile, options: SuiteOptions = {}): Promise<SuiteUnderTest> {
  await using started = new AsyncDisposableStack();
  const dataFolder = mkdtempSync(join(tmpdir(), "drover-e2e-"));
  started.defer(() => rmSync(dataFolder, { recursive: true, force: true }));
  const model = started.use(await startScriptedModel(options.script === undefined ? {} : { script: options.script }));
  const instance = `e2e-${randomUUID()}`;
  const environment: Readonly<Record<string, string | undefined>> = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: model.apiKey,
    DROVER_MODEL: "scripted-1",
    DROVER_SANDBOX_INSTANCE: instance,
    // Tests look for the container of a task, and one that was started ahead does not carry its label.
    DROVER_SANDBOX_POOL_MAX: "0",
    ...options.environment,
  };
  const parts = { profile, model, dataFolder, instance };
  if (profile === "distributed") {
    const database = started.use(await freshDatabase());
    const natsUrl = environment.NATS_URL ?? inject("natsUrl");
    const processes = started.use(
      await startProcessSuite({ dataFolder, environment, databaseUrl: database.url, natsUrl }),
    );
    const owned = started.move();
    return {
      ...parts,
      url: processes.url,
      apiKey: readFileSync(processes.keyFile, "utf8").trim(),
      addresses: processes.addresses,
      processes,
      database,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }
  let running = await startEmbedded(dataFolder, environment, "127.0.0.1:0");
  started.defer(() => running.end());
  const owned = started.move();
  const listen = running.url.replace("http://localhost", "127.0.0.1");
  return {
    ...parts,
    url: running.url,
    apiKey: readFileSync(running.keyFile, "utf8").trim(),
    addresses: running.addresses,
    async killAndRestart() {
      await running.kill();
      running = await startEmbedded(dataFolder, environment, listen);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface EmbeddedProcess {
  readonly url: string;
  readonly keyFile: string;
  readonly addresses: Readonly<Record<string, string>>;
  kill(): Promise<void>;
  end(): Promise<void>;
}

async function startEmbedded(
  dataFolder: string,
  environment: Readonly<Record<string, string | undefined>>,
  listen: string,
): Promise<EmbeddedProcess> {
  const main = resolve(import.meta.dirname, "../../suite/src/main.ts");
  const child = spawn(process.execPath, [main], {
    env: { ...environment, DROVER_DATA: dataFolder, DROVER_LISTEN: listen },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const serving = await untilServing(child);
  const endWith = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return { ...serving, kill: () => endWith("SIGKILL"), end: () => endWith("SIGTERM") };
}

async function untilServing(child: ChildProcess): Promise<Omit<EmbeddedProcess, "kill" | "end">> {
  if (child.stdout === null) throw new Error("The suite's output is not piped.");
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const serving = new Promise<Omit<EmbeddedProcess, "kill" | "end">>((resolve, reject) => {
    reader.on("line", (line) => {
      lines.push(line);
      const entry: { message?: string; url: string; keyFile: string; addresses: Record<string, string> } =
        line.startsWith("{") ? JSON.parse(line) : {};
      if (entry.message === "serving" && entry.url !== undefined) resolve(entry);
    });
    child.once("exit", (code, signal) => {
      reject(new Error(`The suite ended with ${signal ?? code} while starting:\n${lines.slice(-20).join("\n")}`));
    });
  });
  return await serving;
}
