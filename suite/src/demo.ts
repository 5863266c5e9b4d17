import { readFileSync } from "node:fs";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { startScriptedModel } from "@drover/testkit/scripted-model";
import { dataFolderOf } from "./data-folder.ts";
import { isAnswered, runDemoJob } from "./demo-job.ts";
import { down, isUp, up } from "./distributed.ts";
import { startEmbeddedSuite } from "./embedded-suite.ts";

/** `make demo`: starts a suite, runs the demo's task on it, and exits with 0 when it was answered. */
const say = (line: string) => console.log(line);
const profile = process.argv[2] === "distributed" ? "distributed" : "embedded";
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => (interrupted.signal.aborted ? process.exit(130) : interrupted.abort()));
}
const terminal = {
  write: (text: string) => void process.stdout.write(text),
  color: process.stdout.isTTY && process.env.NO_COLOR === undefined,
  live: process.stdout.isTTY,
  width: process.stdout.columns ?? 100,
};
const hasModel = process.env.OPENAI_BASE_URL !== undefined && process.env.OPENAI_API_KEY !== undefined;

const suite = await (profile === "embedded" ? startEmbedded() : startDistributed());
try {
  say(`profile   ${profile}, data in ${suite.dataFolder}`);
  say(
    `model     ${hasModel ? process.env.OPENAI_BASE_URL : "scripted (set OPENAI_BASE_URL and OPENAI_API_KEY for a real one)"}`,
  );
  const apiKey = readFileSync(suite.keyFile, "utf8").trim();
  const task = await runDemoJob({ url: suite.url, apiKey, say, terminal }, interrupted.signal);
  const answered = task.state === TaskState.SUCCEEDED && isAnswered(task);
  say(`\nviewer    ${suite.url}/t/${task.id} (sign in with the key in ${suite.keyFile})`);
  process.exitCode = answered ? 0 : 1;
  if (process.stdout.isTTY && process.stdin.isTTY) {
    say("The suite stays up; end it with Ctrl-C.");
    await new Promise<void>((resolve) => {
      interrupted.signal.addEventListener("abort", () => resolve(), { once: true });
      if (interrupted.signal.aborted) resolve();
    });
  }
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  process.exitCode = 130;
} finally {
  await suite.end();
}

interface DemoSuite {
  readonly url: string;
  readonly keyFile: string;
  readonly dataFolder: string;
  end(): Promise<void>;
}

async function startEmbedded(): Promise<DemoSuite> {
  await using started = new AsyncDisposableStack();
  const environment: Record<string, string | undefined> = { DROVER_LOG_LEVEL: "warn", ...process.env };
  if (!hasModel) {
    const model = started.use(await startScriptedModel());
    environment.OPENAI_BASE_URL = model.baseUrl;
    environment.OPENAI_API_KEY = model.apiKey;
    environment.DROVER_MODEL ??= "scripted-1";
  }
  const dataFolder = dataFolderOf(process.env, "embedded");
  const gatewayListen = process.env.DROVER_LISTEN ?? "127.0.0.1:7700";
  const suite = started.use(await startEmbeddedSuite({ dataFolder, environment, gatewayListen }));
  const owned = started.move();
  return { url: suite.url, keyFile: suite.keyFile, dataFolder, end: () => owned.disposeAsync() };
}

/** Uses what `make up` has started, or starts it and ends it again. */
async function startDistributed(): Promise<DemoSuite> {
  const dataFolder = dataFolderOf(process.env, "distributed");
  const wasUp = await isUp(dataFolder);
  const { url, keyFile } = await up(dataFolder, process.env, say);
  return { url, keyFile, dataFolder, end: async () => (wasUp ? undefined : await down(dataFolder, say)) };
}
