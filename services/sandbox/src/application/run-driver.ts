import { type Clock, DroverError } from "@drover/kernel";
import { attr, type Span, type TraceContext, type Tracer } from "@drover/tracing";
import type { FileEntry } from "../domain/change-set.ts";
import { type Execution, type ExecutionResult, emptyResult, type PhaseResult } from "../domain/execution.ts";
import type { Language } from "../domain/language.ts";
import { endedByItself, type Outcome, outcomeOf } from "../domain/verdict.ts";
import type { Place } from "./admission.ts";
import type { ChangeCollector, Collected } from "./change-collector.ts";
import type { LiveRun } from "./live-run.ts";
import { PhaseClock } from "./phase-clock.ts";
import type { Container, ExecBackend, Log, PoolAnswer, WorkspaceStore } from "./ports.ts";
import { reasonOf } from "./program-watch.ts";
import { type PhaseEnd, programPath, runPhase } from "./run-phase.ts";
import type { RunRequest } from "./run-request.ts";

/** Everything about a run that is fixed before it starts. */
export interface RunPlan {
  readonly request: RunRequest;
  readonly language: Language;
  readonly execution: Execution;
  /** Content address of its image. */
  readonly imageDigest: string;
  /** The workspace's files at the version the run sees; empty for a scratch directory. */
  readonly files: readonly FileEntry[];
  readonly trace: TraceContext | undefined;
  /** Milliseconds that its caller had left when the run was accepted. */
  readonly deadlineMs: number | undefined;
}

/** Times and sizes that frame a run; see the service's README for their defaults. */
export interface RunSettings {
  readonly imagePrefix: string;
  /** Names what confines a run; see policy-version.ts. */
  readonly policyVersion: string;
  readonly startTimeoutMs: number;
  readonly hardOutputBytes: number;
}

/** What the driver works with. */
export interface DriverParts {
  readonly engine: ExecBackend;
  readonly workspaces: WorkspaceStore;
  readonly collector: ChangeCollector;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly log: Log;
  readonly settings: RunSettings;
  /** Records that the program began; must not reject. */
  readonly onStarted: (execution: Execution, at: Date) => void;
  /** Records which container the run got; must not reject. */
  readonly onContainer?: (execution: Execution, containerId: string) => Promise<void>;
}

/** Milliseconds beyond its limits that a run may need for its files, its start and its changes. */
export const lifetimeMarginMs = 120_000;

/** A run that is over: nothing of its program runs any more. */
export interface DrivenRun {
  readonly ended: Execution;
  /** Resolves when its container is gone and its place is free. */
  readonly removed: Promise<void>;
}

/**
 * Takes one run from its queue place to its end. Where process 1 has reported that the program and all
 * it left are gone, the removal of the container is not waited for. Never rejects: every failure is a verdict.
 */
export async function driveRun(parts: DriverParts, run: LiveRun, plan: RunPlan, place: Place): Promise<DrivenRun> {
  const { execution } = plan;
  const span = parts.tracer.start({
    tenant: execution.tenant,
    name: `run ${execution.language}`,
    kind: "sandbox",
    parent: plan.trace,
    taskId: execution.taskId,
    attributes: { [attr.execLanguage]: execution.language, [attr.toolCallId]: execution.callId },
  });
  const notes: Notes = { span, started: {}, phases: new PhaseClock(parts.clock) };
  const { result, removed } = await runToResult(parts, run, plan, notes, place);
  const { outcome } = result;
  span.end({
    error: outcome.verdict === "EXITED" ? undefined : outcome.message,
    attributes: {
      [attr.execOutcome]: outcome.verdict,
      [attr.execExitCode]: outcome.exitCode,
      [attr.execPeakBytes]: result.usage.peakMemoryBytes,
      [attr.execOutputBytes]: result.stdout.seen + result.stderr.seen,
    },
  });
  return { ended: endedExecution(parts, plan, notes, result), removed };
}

/** What is noted of a run while it is driven. */
interface Notes {
  readonly span: Span;
  /** When its program began, and when its end was recorded together with its changes. */
  readonly started: { at?: Date; endedAt?: Date };
  readonly phases: PhaseClock;
}

function endedExecution(parts: DriverParts, plan: RunPlan, notes: Notes, result: ExecutionResult): Execution {
  const { at: startedAt, endedAt } = notes.started;
  return {
    ...plan.execution,
    ...(startedAt === undefined ? {} : { startedAt }),
    endedAt: endedAt ?? parts.clock.now(),
    result: {
      ...result,
      times: notes.phases.times,
      imageDigest: plan.imageDigest,
      policyVersion: parts.settings.policyVersion,
    },
  };
}

async function runToResult(
  parts: DriverParts,
  run: LiveRun,
  plan: RunPlan,
  notes: Notes,
  place: Place,
): Promise<{ readonly result: ExecutionResult; readonly removed: Promise<void> }> {
  let container: Container | undefined;
  let result: ExecutionResult;
  try {
    await notes.phases.measure("queue", () => place.turn(run.cancelSignal));
    container = await startContainer(parts, run, plan, notes);
    result = await runProgram(parts, run, plan, container, notes);
  } catch (error) {
    result = emptyResult(failureOf(error, run));
  }
  const removed = remove(parts, container).finally(() => place.leave());
  if (!endedByItself(result.outcome)) await removed;
  return { result, removed };
}

async function startContainer(
  parts: DriverParts,
  run: LiveRun,
  plan: RunPlan,
  { span, phases }: Notes,
): Promise<Container> {
  const { execution } = plan;
  const starting = parts.tracer.start({
    tenant: execution.tenant,
    name: "start container",
    kind: "sandbox",
    parent: span.context,
    taskId: execution.taskId,
    attributes: { [attr.execPhase]: "start" },
  });
  const request = {
    runId: execution.id,
    taskId: execution.taskId,
    tenant: execution.tenant,
    image: execution.image,
    limits: execution.limits,
    lifetimeMs: execution.limits.compileMs + execution.limits.wallMs + lifetimeMarginMs,
    onAnswer: (answer: PoolAnswer) => starting.set({ [attr.execPool]: answer }),
  };
  const signal = AbortSignal.any([run.cancelSignal, AbortSignal.timeout(parts.settings.startTimeoutMs)]);
  let container: Container | undefined;
  try {
    const begun = await phases.measure("start", () => parts.engine.start(request, signal));
    container = begun;
    const bound = parts.onContainer?.(execution, begun.id);
    await phases.measure("inject", () => putFiles(parts, plan, begun, signal));
    await bound;
    starting.end();
    return container;
  } catch (error) {
    starting.end({ error: "The container could not be started." });
    const outOfMemory = await container?.sawOutOfMemory().catch(() => false);
    await remove(parts, container);
    throw outOfMemory === true ? new DroverError("RESOURCE_EXHAUSTED", "", { reason: "OUT_OF_MEMORY" }) : error;
  }
}

async function putFiles(parts: DriverParts, plan: RunPlan, to: Container, signal: AbortSignal): Promise<void> {
  const { request, execution } = plan;
  const given = new Set(request.files.map((file) => file.path));
  const wanted = plan.files.filter((file) => !given.has(file.path));
  for await (const { file, content } of parts.workspaces.contents(execution.tenant, wanted)) {
    signal.throwIfAborted();
    await to.putFile({ path: file.path, content, executable: file.executable, ephemeral: false });
  }
  for (const file of request.files) await to.putFile({ ...file, ephemeral: false });
  const content = new TextEncoder().encode(request.code);
  await to.putFile({ path: programPath(plan), content, executable: false, ephemeral: true });
}

async function runProgram(
  parts: DriverParts,
  run: LiveRun,
  plan: RunPlan,
  container: Container,
  notes: Notes,
): Promise<ExecutionResult> {
  const { span, started, phases } = notes;
  const onStarted = () => {
    if (started.at !== undefined) return;
    started.at = run.startedAt = parts.clock.now();
    parts.onStarted(plan.execution, started.at);
  };
  const place = { run, plan, container, span, onStarted };
  const compiled =
    plan.language.compile === undefined
      ? undefined
      : await phases.measure("compile", () => runPhase(parts, place, "compile"));
  if (compiled !== undefined) {
    const outcome = outcomeOf(compiled.facts);
    const { oomSeen } = compiled.facts;
    if (outcome.verdict !== "EXITED" || outcome.exitCode !== 0) {
      return { ...emptyResult(outcome), oomSeen, compile: phaseResult(compiled) };
    }
  }
  const ran = await phases.measure("run", () => runPhase(parts, place, "run"));
  const ownEnd = outcomeOf(ran.facts);
  const resultOf = (outcome: Outcome, collected: Collected): ExecutionResult => ({
    outcome,
    oomSeen: ran.facts.oomSeen,
    ...(compiled === undefined ? {} : { compile: phaseResult(compiled) }),
    stdout: ran.stdout,
    stderr: ran.stderr,
    usage: ran.usage,
    ...collected,
  });
  const endOf = (collected: Collected): Execution => {
    started.endedAt = parts.clock.now();
    return endedExecution(parts, plan, notes, resultOf(ownEnd, collected));
  };
  const collected = await phases.measure("collect", () => changesOf(parts, plan, container, ownEnd, run, endOf));
  if (collected !== undefined) return resultOf(ownEnd, collected);
  return resultOf(outcomeOf({ ...ran.facts, killedBy: reasonOf(run.cancelSignal) }), unchanged);
}

function phaseResult({ facts: _facts, ...result }: PhaseEnd): PhaseResult {
  return result;
}

const unchanged: Collected = { workspaceVersionAfter: 0, changes: [] };

/** What the program changed; undefined where a cancel came before it was taken over. */
async function changesOf(
  parts: DriverParts,
  plan: RunPlan,
  container: Container,
  outcome: Outcome,
  run: LiveRun,
  endOf: (collected: Collected) => Execution,
): Promise<Collected | undefined> {
  if (plan.execution.workspaceId === "" || !endedByItself(outcome)) return unchanged;
  const { cancelSignal } = run;
  if (cancelSignal.aborted) return undefined;
  const kill = () => void container.kill().catch(() => undefined);
  cancelSignal.addEventListener("abort", kill, { once: true });
  try {
    return await parts.collector.commit(plan.execution, container, cancelSignal, endOf);
  } finally {
    cancelSignal.removeEventListener("abort", kill);
  }
}

function failureOf(error: unknown, run: LiveRun): Outcome {
  const facts = { oomSeen: false, wallLimitMs: run.execution.limits.wallMs };
  if (run.cancelSignal.aborted) return outcomeOf({ ...facts, killedBy: reasonOf(run.cancelSignal) });
  const known = DroverError.from(error);
  if (known.reason === "OUT_OF_MEMORY") return outcomeOf({ ...facts, killedBy: "", oomSeen: true });
  if (known.reason === "WORKSPACE_FULL") return outcomeOf({ ...facts, killedBy: "", diskFull: true });
  if (known.code === "FAILED_PRECONDITION") {
    return outcomeOf({ ...facts, killedBy: "", launchError: known.message });
  }
  return outcomeOf({ ...facts, killedBy: "", lost: `The run was lost before its end: ${known.message}` });
}

/** A container that could not be removed now is removed by the reaper after its expiry. */
async function remove(parts: DriverParts, container: Container | undefined): Promise<void> {
  try {
    await container?.[Symbol.asyncDispose]();
  } catch (error) {
    parts.log.error({ err: error, container: container?.id }, "a container could not be removed");
  }
}
