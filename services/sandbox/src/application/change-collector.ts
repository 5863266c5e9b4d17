import { type Clock, DroverError } from "@drover/kernel";
import { type Change, type ChangeOutcome, pathOf } from "../domain/change-set.ts";
import type { Execution } from "../domain/execution.ts";
import { pathFault } from "../domain/workspace-path.ts";
import { patiently } from "./patiently.ts";
import type {
  CollectedChange,
  Commit,
  Container,
  ExecutionStore,
  Log,
  WorkspaceLimits,
  WorkspaceStore,
} from "./ports.ts";

/** What a run's changes came to; version 0 where nothing was committed. */
export interface Collected {
  readonly workspaceVersionAfter: number;
  readonly changes: readonly ChangeOutcome[];
  /** Further changes that are counted only, where the end was recorded before. */
  readonly changesOmitted?: number;
}

/**
 * Takes what a program changed in its workspace over as one change set. Process 1 reported it, so
 * every path is checked again. What cannot be taken over is reported, never dropped silently.
 * Nothing is taken over once the signal has aborted.
 */
export class ChangeCollector {
  readonly #workspaces: WorkspaceStore;
  readonly #executions: ExecutionStore;
  readonly #limits: WorkspaceLimits;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(workspaces: WorkspaceStore, executions: ExecutionStore, limits: WorkspaceLimits, clock: Clock, log: Log) {
    this.#workspaces = workspaces;
    this.#executions = executions;
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Writes the changes together with the end of their run (`endOf` what they came to), in one
   * transaction. Undefined where the signal aborted before the changes were written.
   */
  async commit(
    execution: Execution,
    container: Container,
    signal: AbortSignal,
    endOf: (collected: Collected) => Execution,
  ): Promise<Collected | undefined> {
    const changes: Change[] = [];
    const skipped: ChangeOutcome[] = [];
    try {
      await this.collect(execution.tenant, container, signal, changes, skipped);
      if (signal.aborted) return undefined;
      if (changes.length === 0) return { workspaceVersionAfter: 0, changes: skipped };
      const commit = await patiently(this.#clock, () =>
        this.#workspaces.commit(execution.tenant, execution.workspaceId, changes, {
          since: execution.workspaceVersionBefore,
          exact: false,
          requestId: execution.id,
          bodyHash: execution.id,
          limits: this.#limits,
          ends: (made) => endOf(collectedOf(made, skipped)),
        }),
      );
      return commit.repeated ? await this.#recorded(execution) : collectedOf(commit, skipped);
    } catch (error) {
      if (signal.aborted) return undefined;
      const failure = DroverError.from(error);
      this.#log.warn({ err: error, execution: execution.id }, "the changes of a run were not committed");
      const lost = changes.map((change) => skip(pathOf(change), failure.message));
      return { workspaceVersionAfter: 0, changes: [...lost, ...skipped, skip("", failure.message)] };
    }
  }

  /**
   * Adds what changed since the last time to `changes`, what cannot be taken over to `skipped`. Gives the paths of
   * which process 1 will not tell again before they change, though they were skipped.
   */
  async collect(
    tenant: string,
    container: Container,
    signal: AbortSignal,
    changes: Change[],
    skipped: ChangeOutcome[],
  ): Promise<readonly string[]> {
    const tooLargeOnes: string[] = [];
    await container.collect(this.#limits, async (found) => {
      if (found.kind === "skip") return void skipped.push(skip(found.path, found.reason));
      const fault = pathFault(found.path);
      if (fault !== undefined) return void skipped.push(skip(found.path, fault));
      const tooLarge = this.#tooLarge(found);
      if (tooLarge !== undefined) {
        tooLargeOnes.push(found.path);
        return void skipped.push(skip(found.path, tooLarge));
      }
      signal.throwIfAborted();
      changes.push(await this.#kept(tenant, found));
    });
    return tooLargeOnes;
  }

  /** What the commit came to whose answer was lost on its way. */
  async #recorded(execution: Execution): Promise<Collected> {
    const found = await patiently(this.#clock, () => this.#executions.find(execution.tenant, { id: execution.id }));
    return found?.result ?? { workspaceVersionAfter: 0, changes: [] };
  }

  #tooLarge(found: CollectedChange): string | undefined {
    if (found.kind !== "put" || found.content.length <= this.#limits.maxFileBytes) return undefined;
    return `${found.content.length} bytes; a file has at most ${this.#limits.maxFileBytes}`;
  }

  async #kept(tenant: string, found: Exclude<CollectedChange, { kind: "skip" }>): Promise<Change> {
    if (found.kind === "delete") return found;
    const { path, content, executable } = found;
    const sha256 = await patiently(this.#clock, () => this.#workspaces.keep(tenant, content));
    return { kind: "put", file: { path, sha256, size: content.length, executable } };
  }
}

function collectedOf({ workspace, outcomes }: Commit, skipped: readonly ChangeOutcome[]): Collected {
  const applied = outcomes.some(({ kind }) => kind !== "CONFLICT");
  return { workspaceVersionAfter: applied ? workspace.version : 0, changes: [...outcomes, ...skipped] };
}

function skip(path: string, reason: string): ChangeOutcome {
  return { path, kind: "SKIPPED", size: 0, reason };
}
