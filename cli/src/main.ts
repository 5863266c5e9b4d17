#!/usr/bin/env node
import { DroverError } from "@drover/kernel";
import { runCommandLine } from "./command-line.ts";
import { exitCodes } from "./exit-codes.ts";
import { terminalOf } from "./terminal.ts";

const interrupt = new AbortController();
process.on("SIGINT", () => {
  if (interrupt.signal.aborted) process.exit(exitCodes.interrupted);
  interrupt.abort(new DroverError("CANCELLED", "Interrupted."));
});
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", () => process.exit(exitCodes.brokenPipe));
}

process.exitCode = await runCommandLine(process.argv.slice(2), {
  terminal: terminalOf(process, process.env),
  environment: process.env,
  cwd: process.cwd(),
  signal: interrupt.signal,
});
