import { DroverError } from "@drover/kernel";
import { CommanderError } from "commander";
import { exitCodes } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";
import { printJson } from "./json-output.ts";
import { createProgram } from "./program.ts";
import { type CommonOptions, openSession, type Session, type Surroundings } from "./session.ts";

/** Runs the command of `words` (without node and script) and returns the exit code. Never throws. */
export async function runCommandLine(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { terminal, signal } = surroundings;
  let exitCode: number = exitCodes.ok;
  let json = false;
  const program = createProgram(async (options, work) => {
    json = options.json === true;
    exitCode = await inSession(surroundings, options, work);
  });
  try {
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted;
    // Commander has printed what is wrong, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const failure = error instanceof CommandFailure ? error : unexpected(error);
    const { message, advice, code } = failure;
    if (json) printJson(terminal, { error: { code, message, advice } });
    terminal.complain(advice === "" ? message : `${message}\n${advice}`);
    return failure.exitCode;
  }
}

async function inSession(
  surroundings: Surroundings,
  options: CommonOptions,
  work: (session: Session) => Promise<number>,
): Promise<number> {
  await using session = openSession(surroundings, options);
  try {
    return await work(session);
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    throw session.failure(error);
  }
}

function unexpected(error: unknown): CommandFailure {
  const message = error instanceof Error ? error.message : String(error);
  return new CommandFailure(`drover failed: ${message}`, "This is a defect of drover.", exitCodes.failed, "INTERNAL");
}
