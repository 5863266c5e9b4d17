import { CheckEngine } from "./check-engine.ts";
import { Executions } from "./executions.ts";
import type { PatternCompiler } from "./ports.ts";
import { ReadOutput } from "./read-output.ts";
import { RunProgram } from "./run-program.ts";
import { Sessions, type SessionsParts } from "./sessions.ts";
import { ShellCommands } from "./shell-commands.ts";

/** What running code needs from outside. */
export interface ExecSetup extends SessionsParts {
  readonly compile: PatternCompiler;
}

/** Everything that ExecService's handlers delegate to; disposing ends all sessions. */
export interface OpenExec extends AsyncDisposable {
  readonly runs: RunProgram;
  readonly executions: Executions;
  readonly engine: CheckEngine;
  readonly commands: ShellCommands;
  readonly output: ReadOutput;
}

const longestRoundMs = 5000;

/** Puts the use cases of ExecService together and begins to look for idle sessions. */
export function openExec(setup: ExecSetup): OpenExec {
  const executions = new Executions(setup.executions, setup.live);
  const sessions = new Sessions(setup);
  const commands = new ShellCommands(setup, sessions);
  const stop = new AbortController();
  const expiring = expire(sessions, setup, stop.signal);
  return {
    runs: new RunProgram(setup),
    executions,
    engine: new CheckEngine(setup.engine, setup.languages, setup.settings.imagePrefix),
    commands,
    output: new ReadOutput(executions, setup.live, commands, setup.compile, setup.clock),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await expiring;
      await sessions[Symbol.asyncDispose]();
    },
  };
}

async function expire(sessions: Sessions, { clock, sessions: { idleMs } }: ExecSetup, stop: AbortSignal) {
  while (!stop.aborted) {
    await sessions.expire();
    await clock.sleep(Math.min(idleMs / 2, longestRoundMs), stop).catch(() => undefined);
  }
}
