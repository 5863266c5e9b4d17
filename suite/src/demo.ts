import { readFileSync } from "node:fs";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { startScriptedModel } from "@drover/testkit/scripted-model";
import { dataFolderOf } from "./data-folder.ts";
import { isAnswered, runDemoJob } from "./demo-job.ts";
import { down, isUp, up } from "./distributed.ts";
import { gatewayListenOf, startEmbeddedSuite } from "./embedded-suite.ts";
import { SuiteFailure } from "./failure.ts";
import { hasModelEndpoint } from "./model-choice.ts";
import { runCommand } from "./run-command.ts";

/**
 * What goes wrong is in the demo's own lines, and the services' warnings would only tear them apart.
 * Nothing is replaced while it runs: a sandbox that is away, as without Docker, is not waited for long.
 */
const demoDefaults = { DROVER_LOG_LEVEL: "error", DROVER_TOOL_PATIENCE_MS: "4000" };

/**
 * `make demo`: starts a suite and runs the demo's task on it. The exit code is 0 when it was answered,
 * 1 when not, 130 when interrupted before.
 */
await runCommand(async () => {
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => (interrupted.signal.aborted ? process.exit(130) : interrupted.abort()));
  }
  // The reader of the output went away, as `| head` does.
  process.stdout.on("error", () => interrupted.abort());
  await demo(profileOf(process.argv[2]), interrupted.signal);
});

function say(line: string): void {
  console.log(line);
}

interface DemoSuite {
  readonly url: string;
  readonly keyFile: string;
  readonly dataFolder: string;
  end(): Promise<void>;
}

async function demo(profile: "embedded" | "distributed", interrupted: AbortSignal): Promise<void> {
  const hasModel = hasModelEndpoint(process.env);
  const suite = await (profile === "embedded" ? startEmbedded(hasModel) : startDistributed());
  try {
    say(`profile   ${profile}, data in ${suite.dataFolder}`);
    const scripted = "scripted (set OPENAI_BASE_URL, OPENAI_API_KEY and DROVER_MODEL for a real one)";
    say(`model     ${hasModel ? process.env.OPENAI_BASE_URL : scripted}`);
    await work(suite, interrupted);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    say("\nInterrupted.");
    process.exitCode = 130;
  } finally {
    await suite.end();
  }
}

async function work(suite: DemoSuite, interrupted: AbortSignal): Promise<void> {
  const terminal = {
    write: (text: string) => void process.stdout.write(text),
    color: process.stdout.isTTY && !process.env.NO_COLOR,
    live: process.stdout.isTTY,
    width: (process.stdout.columns || 101) - 1,
  };
  const apiKey = readFileSync(suite.keyFile, "utf8").trim();
  const task = await runDemoJob({ url: suite.url, apiKey, say, terminal }, interrupted);
  process.exitCode = task.state === TaskState.SUCCEEDED && isAnswered(task) ? 0 : 1;
  if (task.failureReason.startsWith("MODEL_")) {
    say("Check OPENAI_BASE_URL, OPENAI_API_KEY and DROVER_MODEL, or unset them for the scripted model.");
  }
  say(`\nviewer    ${suite.url}/t/${task.id}\nsign in   with the key in ${suite.keyFile}`);
  if (!process.stdout.isTTY || !process.stdin.isTTY) return;
  say("The suite stays up; end it with Ctrl-C.");
  await new Promise<void>((resolve) => {
    interrupted.addEventListener("abort", () => resolve(), { once: true });
    if (interrupted.aborted) resolve();
  });
}

function profileOf(word = "embedded"): "embedded" | "distributed" {
  if (word === "embedded" || word === "distributed") return word;
  throw new SuiteFailure(
    `There is no profile ${JSON.stringify(word)}.`,
    "Use PROFILE=embedded or PROFILE=distributed.",
  );
}

async function startEmbedded(hasModel: boolean): Promise<DemoSuite> {
  await using started = new AsyncDisposableStack();
  const environment: Record<string, string | undefined> = { ...demoDefaults, ...process.env };
  if (!hasModel) {
    const model = started.use(await startScriptedModel());
    environment.OPENAI_BASE_URL = model.baseUrl;
    environment.OPENAI_API_KEY = model.apiKey;
    environment.DROVER_MODEL ||= "scripted-1";
  }
  const dataFolder = dataFolderOf(process.env, "embedded");
  const gatewayListen = gatewayListenOf(process.env);
  const suite = started.use(await startEmbeddedSuite({ dataFolder, environment, gatewayListen }));
  const owned = started.move();
  return { url: suite.url, keyFile: suite.keyFile, dataFolder, end: () => owned.disposeAsync() };
}

/** Uses what `make up` has started, or starts it and ends it again. */
async function startDistributed(): Promise<DemoSuite> {
  const dataFolder = dataFolderOf(process.env, "distributed");
  const wasUp = await isUp(dataFolder);
  const end = async () => (wasUp ? undefined : await down(dataFolder, say));
  try {
    const { url, keyFile } = await up(dataFolder, process.env, say);
    return { url, keyFile, dataFolder, end };
  } catch (error) {
    await end();
    throw error;
  }
}
