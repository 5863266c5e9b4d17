import { DroverError } from "@drover/kernel";
import { attr, type Span } from "@drover/tracing";
import type { PhaseResult } from "../domain/execution.ts";
import { commandLine, environmentOf, type Folders, programFileName, sizesOf, sourcesOf } from "../domain/language.ts";
import type { Limits } from "../domain/limits.ts";
import { outcomeOf, type Phase, type RunFacts } from "../domain/verdict.ts";
import type { LiveRun } from "./live-run.ts";
import type { Container, ProgramReport } from "./ports.ts";
import { ProgramWatch } from "./program-watch.ts";
import type { DriverParts, RunPlan } from "./run-driver.ts";

/** What one phase came to: the facts of its end, and what it wrote and used. */
export interface PhaseEnd extends PhaseResult {
  readonly facts: RunFacts;
}

/** Where a phase runs, and who is told of it. */
export interface PhasePlace {
  readonly run: LiveRun;
  readonly plan: RunPlan;
  readonly container: Container;
  readonly span: Span;
  /** Called when its first process runs. */
  readonly onStarted: () => void;
}

/** Bytes kept of each stream of a compiler: what people and models read of an error stands in the first few thousand. */
const compilerOutputBytes = 64 * 1024;

/** File of the program in the working folder. */
export function programPath({ language, files, request }: RunPlan): string {
  return programFileName(
    language,
    [...files, ...request.files].map((file) => file.path),
  );
}

/** Runs one phase to its end. Never rejects for what the program or the container does. */
export async function runPhase(
  parts: Pick<DriverParts, "tracer" | "settings" | "clock">,
  place: PhasePlace,
  phase: Phase,
): Promise<PhaseEnd> {
  const { run, plan, container } = place;
  const { execution } = plan;
  const span = parts.tracer.start({
    tenant: execution.tenant,
    name: phase === "compile" ? "compile" : "program",
    kind: "sandbox",
    parent: place.span.context,
    taskId: execution.taskId,
    attributes: { [attr.execPhase]: phase },
  });
  const limits = limitsOf(execution.limits, phase);
  const { hardOutputBytes } = parts.settings;
  using watch = new ProgramWatch(run, container, limits, hardOutputBytes, parts.clock, phase === "run");
  const began = parts.clock.monotonicMs();
  let report: ProgramReport | undefined;
  let lost: string | undefined;
  try {
    report = await container.run({
      phase,
      argv: commandOf(plan, { root: container.root, build: container.build ?? "/tmp" }, phase),
      environment: { ...environmentOf(plan.language, sizesOf(limits)), ...plan.request.environment },
      stdin: phase === "run" ? plan.request.stdin : new Uint8Array(),
      cpuTimeMs: limits.cpuTimeMs,
      onStarted: () => {
        place.onStarted();
        watch.started();
      },
      onOutput: (stream, bytes) => watch.output(stream, bytes),
    });
  } catch (error) {
    lost = DroverError.from(error).message;
  }
  await watch.close();
  const facts = factsOf(report, lost, watch, await sawOutOfMemory(report, container), limits, phase);
  const { verdict, exitCode, signal } = outcomeOf(facts);
  span.end({ attributes: { [attr.execOutcome]: verdict } });
  return {
    facts,
    signal,
    ...(exitCode === undefined ? {} : { exitCode }),
    stdout: watch.stdout.facts(),
    stderr: watch.stderr.facts(),
    usage: {
      wallMs: report?.wallMs ?? parts.clock.monotonicMs() - began,
      cpuMs: report?.cpuMs ?? 0,
      peakMemoryBytes: report?.peakMemoryBytes ?? 0,
    },
  };
}

function limitsOf(limits: Limits, phase: Phase): Limits {
  if (phase === "run") return limits;
  const outputBytes = Math.min(limits.outputBytes, compilerOutputBytes);
  return { ...limits, wallMs: limits.compileMs, outputBytes };
}

function commandOf(plan: RunPlan, folders: Folders, phase: Phase): string[] {
  const { language, request } = plan;
  const places = { ...folders, ...sizesOf(plan.execution.limits) };
  const workspace = plan.files.map(({ path }) => path);
  const given = request.files.map(({ path }) => path);
  const sources = sourcesOf(language, { program: programPath(plan), workspace, given });
  if (phase === "compile") return commandLine(language.compile ?? [], places, sources);
  return [...commandLine(language.command, places, sources), ...request.arguments];
}

function factsOf(
  report: ProgramReport | undefined,
  lost: string | undefined,
  watch: ProgramWatch,
  oomSeen: boolean,
  limits: Limits,
  phase: Phase,
): RunFacts {
  return {
    phase,
    killedBy: watch.killedBy,
    oomSeen,
    wallLimitMs: limits.wallMs,
    cpuLimitMs: limits.cpuTimeMs,
    cpuExceeded: report?.cpuExceeded === true,
    diskFull: report?.diskFull === true,
    beside: report?.beside === true,
    ...(report?.exit === undefined ? {} : { exit: report.exit }),
    ...(report?.launchError === undefined ? {} : { launchError: report.launchError }),
    ...(lost === undefined ? {} : { lost }),
  };
}

/** Process 1's count is exact where it is above zero; else the engine is asked, unless all went well. */
async function sawOutOfMemory(report: ProgramReport | undefined, container: Container): Promise<boolean> {
  if (report !== undefined && report.oomKills > 0) return true;
  if (report?.exit !== undefined && "code" in report.exit && report.exit.code === 0) return false;
  return await container.sawOutOfMemory().catch(() => false);
}
