import { DroverError, newId } from "@drover/kernel";
import type { TraceContext } from "@drover/tracing";
import { callMadeAt } from "../domain/call-time.ts";
import { checkSupported, limitsInForce } from "../domain/capability.ts";
import type { FileEntry } from "../domain/change-set.ts";
import type { Execution } from "../domain/execution.ts";
import { imageOf, type Language } from "../domain/language.ts";
import type { LimitPolicy, Limits } from "../domain/limits.ts";
import { checkFolders } from "../domain/workspace-path.ts";
import type { Admission, Place } from "./admission.ts";
import { LiveRun, type RunEvent } from "./live-run.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { Digest, ExecutionStore, RunMetrics } from "./ports.ts";
import { recordContainer } from "./record-container.ts";
import { recordEnd } from "./record-end.ts";
import { type DriverParts, driveRun, type RunPlan } from "./run-driver.ts";
import { checkRunRequest, type RunRequest } from "./run-request.ts";

/** Who asks, and where in a trace. */
export interface RunCaller {
  readonly tenant: string;
  readonly trace: TraceContext | undefined;
  /** Milliseconds until the caller gives up; undefined where it never does. */
  readonly deadlineMs: number | undefined;
}

/** A stream of a run; `existing` tells that the call id was known already. */
export interface RunStream {
  readonly existing: boolean;
  readonly events: AsyncIterable<RunEvent>;
}

/** What the use case works with. */
export interface RunParts extends Omit<DriverParts, "onStarted"> {
  readonly executions: ExecutionStore;
  readonly admission: Admission;
  readonly live: LiveRuns;
  readonly policy: LimitPolicy;
  readonly languages: readonly Language[];
  readonly digest: Digest;
  readonly metrics: RunMetrics;
}

const pollMs = 250;

/**
 * Starts a run, or finds the one that its call id names already. Everything that is wrong with the
 * request or the engine is thrown before anything starts; after that the run's end is an event.
 */
export class RunProgram {
  readonly #parts: RunParts;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async start(caller: RunCaller, request: RunRequest, signal: AbortSignal): Promise<RunStream> {
    const { engine } = this.#parts;
    const checked = checkRunRequest(request, this.#parts.policy, this.#parts.languages);
    checkSupported(request.limits, engine.name, engine.capabilities);
    refuseLate(caller.deadlineMs, signal);
    const { language } = checked;
    const limits = limitsInForce(checked.limits, engine.capabilities);
    if (this.#parts.live.draining) {
      throw new DroverError("UNAVAILABLE", "This instance is shutting down; try again.", { retryAfterMs: 500 });
    }
    const seen = await this.#workspaceOf(caller.tenant, request.workspaceId);
    const execution = this.#draft(caller.tenant, request, language, limits, seen.version);
    const { executions } = this.#parts;
    const accepted = await executions.accept(execution, this.#bodyHash(request), callMadeAt(request.callId));
    if (accepted.kind === "cancelled") return { existing: true, events: endedOnly(accepted.execution) };
    if (accepted.kind === "existing") {
      if (!accepted.sameBody) {
        const message = "call_id was used for another run already.";
        throw new DroverError("ALREADY_EXISTS", message, { reason: "CALL_ID_REUSED" });
      }
      return { existing: true, events: this.#existing(accepted.execution, signal) };
    }
    const run = new LiveRun(execution);
    const start = Promise.withResolvers<void>();
    this.#parts.live.add(
      run,
      this.#drive(run, start, {
        request,
        language,
        execution,
        files: seen.files,
        trace: caller.trace,
        deadlineMs: caller.deadlineMs,
      }),
    );
    if (signal.aborted) run.cancel();
    await start.promise;
    return { existing: false, events: run.follow(signal) };
  }

  /** Takes its place first: a run that was accepted is not refused any more. Rejects `start` and forgets the run where it could not even be tried; else records its end. */
  async #drive(run: LiveRun, start: PromiseWithResolvers<void>, plan: Omit<RunPlan, "imageDigest">): Promise<void> {
    const { engine, admission, executions, metrics, clock } = this.#parts;
    const { tenant, id } = plan.execution;
    let place: Place | undefined;
    let imageDigest: string;
    try {
      const { memoryBytes } = plan.execution.limits;
      place = admission.claim({ tenant, memoryBytes, deadlineMs: plan.deadlineMs });
      checkFolders("files", new Set([...plan.files, ...plan.request.files].map(({ path }) => path)));
      imageDigest = await engine.check(plan.execution.image, AbortSignal.timeout(this.#parts.settings.startTimeoutMs));
    } catch (error) {
      place?.leave();
      await executions.withdraw(tenant, id).catch(() => undefined);
      run.failed(error);
      return start.reject(error);
    }
    start.resolve();
    metrics.running(1);
    const began = clock.monotonicMs();
    const marks: Promise<void>[] = [];
    const onStarted = (execution: Execution, at: Date) => {
      marks.push(executions.started(execution.tenant, execution.id, at).catch(() => undefined));
    };
    const onContainer = (execution: Execution, id: string) => recordContainer(this.#parts, execution, id);
    const parts = { ...this.#parts, onStarted, onContainer };
    const { ended, removed } = await driveRun(parts, run, { ...plan, imageDigest }, place);
    await Promise.all(marks);
    await recordEnd(this.#parts, ended);
    for (const [phase, ms] of Object.entries(ended.result?.times ?? {}))
      metrics.phase(ended.language, phase, ms / 1000);
    metrics.ended(ended.language, ended.result?.outcome.verdict ?? "", (clock.monotonicMs() - began) / 1000);
    run.ended(ended);
    await removed;
    metrics.running(-1);
  }

  async *#existing(execution: Execution, signal: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    if (execution.result !== undefined) return yield* endedOnly(execution);
    const live = this.#parts.live.get(execution.tenant, execution.callId);
    if (live !== undefined) return yield* live.follow(signal);
    yield { kind: "accepted", executionId: execution.id };
    for (;;) {
      await this.#parts.clock.sleep(pollMs, signal);
      const found = await this.#parts.executions.find(execution.tenant, { id: execution.id });
      if (found === undefined) throw new DroverError("ABORTED", "The run was withdrawn; send the call again.");
      if (found.result !== undefined) return yield { kind: "ended", execution: found };
    }
  }

  async #workspaceOf(tenant: string, id: string): Promise<{ version: number; files: readonly FileEntry[] }> {
    if (id === "") return { version: 0, files: [] };
    const { workspace, files } = await this.#parts.workspaces.read(tenant, id);
    return { version: workspace.version, files: [...files.values()] };
  }

  #draft(tenant: string, request: RunRequest, language: Language, limits: Limits, version: number): Execution {
    return {
      id: newId(),
      tenant,
      callId: request.callId,
      taskId: request.taskId,
      language: language.name,
      image: imageOf(language, this.#parts.settings.imagePrefix),
      runtime: this.#parts.engine.runtime,
      limits,
      workspaceId: request.workspaceId,
      workspaceVersionBefore: version,
      acceptedAt: this.#parts.clock.now(),
    };
  }

  #bodyHash(request: RunRequest): string {
    const { digest } = this.#parts;
    const environment = Object.entries(request.environment).sort(([a], [b]) => (a < b ? -1 : 1));
    const files = request.files.map((file) => [file.path, file.executable, digest(file.content)]);
    return digest(JSON.stringify({ ...request, environment, files, stdin: digest(request.stdin) }));
  }
}

/** What nobody waits for any more is not even recorded. */
function refuseLate(deadlineMs: number | undefined, signal: AbortSignal): void {
  if (deadlineMs !== undefined && deadlineMs <= 0) {
    throw new DroverError("DEADLINE_EXCEEDED", "The call's deadline was over when it came; nothing was started.");
  }
  signal.throwIfAborted();
}

async function* endedOnly(execution: Execution): AsyncGenerator<RunEvent, void, undefined> {
  yield { kind: "accepted", executionId: execution.id };
  yield { kind: "ended", execution };
}
