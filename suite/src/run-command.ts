import { sentencesOf } from "./failure.ts";

/**
 * Runs a command of the suite as the whole of this process. A failure ends it with exit code 1 and
 * two sentences on standard error: what happened, and what to do. The stack is added only where
 * DROVER_LOG_LEVEL is debug. `work` may set `process.exitCode` itself.
 */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  process.on("uncaughtException", fail);
  try {
    await work();
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): never {
  const stack = process.env.DROVER_LOG_LEVEL === "debug" && error instanceof Error ? `\n${error.stack}` : "";
  process.stderr.write(`${sentencesOf(error).join("\n")}${stack}\n`);
  process.exit(1);
}
