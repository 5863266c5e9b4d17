import { type Clock, DroverError, newId } from "@drover/kernel";
import type { Capability } from "../domain/capability.ts";
import {
  forkProgram,
  type IsolationLevel,
  memoryProgram,
  probeLimits,
  probeProgram,
  shortOf,
} from "../domain/isolation.ts";
import type { Limits } from "../domain/limits.ts";
import type { Container, ContainerRequest, EngineHealth, ExecBackend, FoundContainer, Log } from "./ports.ts";

/** What the guard works with. */
export interface GuardParts {
  readonly backend: ExecBackend;
  /** What must be proven before anything runs. */
  readonly level: IsolationLevel;
  /** Image with bash, for the self-test. */
  readonly image: string;
  /** Limits that the self-test starts from. */
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

const probeTimeoutMs = 60_000;
/** So long a failed self-test speaks for the next callers as well. */
const failureHoldsMs = 15_000;
const adviceByLevel = {
  none: "",
  hardened: "",
  userns:
    'For userns the Docker daemon needs "userns-remap": "default" in /etc/docker/daemon.json and a restart; its images are then kept apart, so run `make images` again.',
  gvisor: "Is DROVER_SANDBOX_RUNTIME a gVisor runtime, e.g. runsc?",
} satisfies Record<IsolationLevel, string>;
const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/tmp" };

/**
 * Stands before a backend and lets nothing start until a real hostile program, run there, has proven
 * the isolation level. Below it every check and start is FAILED_PRECONDITION, reason
 * ISOLATION_BELOW_LEVEL, and says what is missing; the next one tries again, because the engine may
 * have been mended. What was proven holds until the engine was seen away.
 */
export class GuardedBackend implements ExecBackend, AsyncDisposable {
  readonly #parts: GuardParts;
  #proving: Promise<void> | undefined;
  #missing: readonly string[] = [];
  #retryAt = 0;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.backend.name;
  }

  get runtime(): string {
    return this.#parts.backend.runtime;
  }

  get capabilities(): ReadonlySet<Capability> {
    return this.#parts.backend.capabilities;
  }

  /** False where the last self-test ran and failed. */
  get reached(): boolean {
    return this.#missing.length === 0;
  }

  async check(image: string, signal: AbortSignal): Promise<string> {
    const identity = await this.#parts.backend.check(image, signal);
    await this.prove();
    return identity;
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<Container> {
    signal.throwIfAborted();
    await this.prove();
    return await this.#parts.backend.start(request, signal);
  }

  async health(signal: AbortSignal): Promise<EngineHealth> {
    const { backend, level } = this.#parts;
    const health = await backend.health(signal);
    const isolation = level === "none" ? "none (UNSAFE)" : level;
    if (level === "none") return { ...health, isolation };
    if (!health.ready) {
      this.#proving = undefined;
      return { ...health, isolation };
    }
    try {
      await this.prove();
      return { ...health, isolation };
    } catch (error) {
      const problem = DroverError.from(error).message;
      return { ...health, ready: false, problem, advice: adviceFor(level), isolation: `below ${level}` };
    }
  }

  async found(signal: AbortSignal): Promise<readonly FoundContainer[]> {
    return await this.#parts.backend.found(signal);
  }

  async remove(id: string): Promise<void> {
    await this.#parts.backend.remove(id);
  }

  /** Resolves when a self-test that is under way has ended and its container is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proving?.catch(() => undefined);
  }

  /** Resolves when the level is proven. One self-test at a time; a proof is kept, a failure for a moment. */
  async prove(): Promise<void> {
    const { level, clock } = this.#parts;
    if (level === "none") return;
    if (!this.reached && clock.monotonicMs() < this.#retryAt) throw this.#below();
    this.#proving ??= this.#probe().catch((error: unknown) => {
      this.#proving = undefined;
      throw error;
    });
    await this.#proving;
  }

  async #probe(): Promise<void> {
    const { backend, level, image, log } = this.#parts;
    const signal = AbortSignal.timeout(probeTimeoutMs);
    const limits = { ...this.#parts.limits, ...probeLimits };
    const request = { runId: newId(), taskId: "", tenant: "", image, limits, lifetimeMs: 2 * probeTimeoutMs };
    const container = await backend.start(request, signal);
    try {
      const processesElsewhere = !backend.capabilities.has("process-limit");
      const { output } = await runShell(container, processesElsewhere ? probeProgram : probeProgram + forkProgram);
      const memoryHeld = await holdsMemory(container);
      const processOneShared = !backend.capabilities.has("process-one-apart");
      this.#missing = shortOf(level, { output, memoryHeld, processesElsewhere, processOneShared });
    } finally {
      await container[Symbol.asyncDispose]();
    }
    if (!this.reached) {
      this.#retryAt = this.#parts.clock.monotonicMs() + failureHoldsMs;
      log.error({ level, missing: this.#missing }, "the self-test of isolation failed; nothing is run");
      throw this.#below();
    }
    log.info({ level, backend: backend.name, runtime: backend.runtime }, "the self-test proved the isolation level");
  }

  #below(): DroverError {
    const message = `Isolation is below the level ${this.#parts.level}: ${this.#missing.join("; ")}.`;
    return new DroverError("FAILED_PRECONDITION", message, { reason: "ISOLATION_BELOW_LEVEL" });
  }
}

async function holdsMemory(container: Container): Promise<boolean> {
  const seen = await runShell(container, memoryProgram).catch(() => undefined);
  if (seen !== undefined && seen.oomKills > 0) return true;
  return await container.sawOutOfMemory();
}

async function runShell(container: Container, program: string): Promise<{ output: string; oomKills: number }> {
  let output = "";
  const report = await container.run({
    argv: ["/bin/bash", "-c", program],
    environment,
    stdin: new Uint8Array(),
    onStarted: () => undefined,
    onOutput: (stream, bytes) => {
      if (stream === "stdout" && output.length < 10_000) output += new TextDecoder().decode(bytes);
    },
  });
  return { output, oomKills: report.oomKills };
}

function adviceFor(level: IsolationLevel): string {
  const advice = "Mend the engine, or choose another DROVER_SANDBOX_ISOLATION if its risk is yours to take.";
  return `${advice} ${adviceByLevel[level]}`.trim();
}
