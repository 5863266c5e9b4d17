import { type Clock, invalidField, invalidFields } from "@drover/kernel";
import type { Execution } from "../domain/execution.ts";
import { timeFaults } from "../domain/limits.ts";
import type { OutputFacts } from "../domain/output-cap.ts";
import { matchingSlice, type OutputSlice, sliceOf, wholeUntil } from "../domain/output-slice.ts";
import type { Executions } from "./executions.ts";
import type { LiveRun } from "./live-run.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { PatternCompiler } from "./ports.ts";
import type { ShellCommands } from "./shell-commands.ts";

/** What to read of an execution's output, from positions that the caller holds. */
export interface ReadRequest {
  readonly id: string;
  readonly stdoutOffset: number;
  readonly stderrOffset: number;
  readonly maxBytes: number;
  readonly filter: string;
  readonly waitMs: number;
  readonly untilEnded: boolean;
}

/** The execution as it is, and a piece of each stream. */
export interface ReadAnswer {
  readonly execution: Execution;
  readonly stdout: OutputSlice;
  readonly stderr: OutputSlice;
}

const defaultBytes = 100_000;
const mostBytes = 1_000_000;
const mostFilter = 1000;
const mostWaitMs = 60_000;
const pollMs = 50;
const mostGraceMs = 30_000;
const defaultGraceMs = 2000;
const nothing = { seen: 0, head: new Uint8Array(), tail: new Uint8Array(), dropped: 0 };

/** Follows and ends executions by their id, one-shot runs and commands alike. */
export class ReadOutput {
  readonly #executions: Executions;
  readonly #live: LiveRuns;
  readonly #commands: ShellCommands;
  readonly #compile: PatternCompiler;
  readonly #clock: Clock;

  constructor(executions: Executions, live: LiveRuns, commands: ShellCommands, compile: PatternCompiler, clock: Clock) {
    this.#executions = executions;
    this.#live = live;
    this.#commands = commands;
    this.#compile = compile;
    this.#clock = clock;
  }

  async read(tenant: string, request: ReadRequest, signal: AbortSignal): Promise<ReadAnswer> {
    const matches = this.#check(request);
    await this.#executions.get(tenant, { id: request.id });
    await this.#untilNews(tenant, request, signal);
    const command = this.#commands.find(tenant, request.id);
    if (command !== undefined) {
      command.session.lastUsedMs = this.#clock.monotonicMs();
      // A commit that fails is told with the command's end; the output is there all the same.
      if (command.background) await command.session.sync().catch(() => undefined);
    }
    const view = this.#live.byId(tenant, request.id)?.view;
    const seen = { stdout: view?.stdout.facts() ?? nothing, stderr: view?.stderr.facts() ?? nothing };
    const execution = await this.#executions.get(tenant, { id: request.id });
    const piece = (stream: "stdout" | "stderr", offset: number) => {
      const facts = execution.result?.[stream] ?? seen[stream];
      const most = Math.min(request.maxBytes || defaultBytes, mostBytes);
      if (matches === undefined) return sliceOf(facts, offset, most);
      return matchingSlice(facts, offset, most, matches, execution.result !== undefined);
    };
    return {
      execution,
      stdout: piece("stdout", request.stdoutOffset),
      stderr: piece("stderr", request.stderrOffset),
    };
  }

  /** Ends it gracefully, then by force; resolves when it is over. One that has ended stays as it is. */
  async end(tenant: string, id: string, graceMs: number, signal: AbortSignal): Promise<Execution> {
    const faults = timeFaults("grace", Math.min(graceMs, mostGraceMs), mostGraceMs);
    if (faults.length > 0) throw invalidFields(faults);
    await this.#executions.get(tenant, { id });
    const run = this.#live.byId(tenant, id);
    if (run?.view === undefined) run?.cancel();
    else run.view.stop(Math.min(graceMs || defaultGraceMs, mostGraceMs));
    while (this.#live.byId(tenant, id) !== undefined) await this.#clock.sleep(pollMs, signal);
    return await this.#executions.get(tenant, { id });
  }

  async #untilNews(tenant: string, request: ReadRequest, signal: AbortSignal): Promise<void> {
    const until = this.#clock.monotonicMs() + Math.min(request.waitMs, mostWaitMs);
    while (this.#clock.monotonicMs() < until) {
      const run = this.#live.byId(tenant, request.id);
      if (run === undefined || (!request.untilEnded && isNew(run, request))) return;
      await this.#clock.sleep(pollMs, signal);
    }
  }

  #check(request: ReadRequest): ((line: string) => boolean) | undefined {
    for (const [field, value] of [
      ["stdout_offset", request.stdoutOffset],
      ["stderr_offset", request.stderrOffset],
      ["max_bytes", request.maxBytes],
      ["wait", request.waitMs],
    ] as const) {
      if (value < 0) throw invalidField(field, String(value), "0 or more");
    }
    if (request.filter === "") return undefined;
    const { length } = request.filter;
    if (length > mostFilter) throw invalidField("filter", `${length} characters`, `at most ${mostFilter} characters`);
    try {
      return this.#compile(request.filter, false);
    } catch (error) {
      throw invalidField("filter", error instanceof Error ? error.message : "a pattern", "RE2 syntax");
    }
  }
}

function isNew({ view }: LiveRun, request: ReadRequest): boolean {
  if (view === undefined) return false;
  const until = (facts: OutputFacts) => (request.filter === "" ? facts.seen : wholeUntil(facts));
  return until(view.stdout.facts()) > request.stdoutOffset || until(view.stderr.facts()) > request.stderrOffset;
}
