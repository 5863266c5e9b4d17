import { type Clock, DroverError } from "@drover/kernel";
import { type Change, type ChangeOutcome, pathOf } from "../domain/change-set.ts";
import type { Execution } from "../domain/execution.ts";
import { foldersOf } from "../domain/workspace-path.ts";
import type { ChangeBook } from "./change-book.ts";
import type { ChangeCollector, Collected } from "./change-collector.ts";
import { ContainerFiles } from "./container-files.ts";
import type { LiveRun } from "./live-run.ts";
import { patiently } from "./patiently.ts";
import type { Commit, CommitOptions, Container, SessionFace, WorkspaceLimits, WorkspaceStore } from "./ports.ts";
import type { Share } from "./session-owner.ts";

/** What a session works with. */
export interface SessionParts {
  readonly workspaces: WorkspaceStore;
  readonly collector: ChangeCollector;
  readonly space: WorkspaceLimits;
  readonly clock: Clock;
}

/** The end of a command, from what was committed while it ran; see {@link Session.sync}. */
export interface CommandEnd {
  readonly id: string;
  readonly book: ChangeBook;
  endOf(collected: Collected): Execution;
}

/**
 * One task's container for shell commands. `sync` brings it and the workspace together: while all
 * processes stand still, what changed here is committed (a file that another call changed as well is a
 * CONFLICT and gives way), then the files of the current version are brought in.
 */
export class Session {
  readonly run: LiveRun;
  readonly container: Container;
  readonly face: SessionFace;
  readonly books = new Set<ChangeBook>();
  lastUsedMs: number;
  /** Commands that run here or are about to; as long as there are any it is not ended for being idle. */
  users = 1;
  /** Resolves when the container is gone. */
  ended: Promise<void> = Promise.resolve();
  readonly #parts: SessionParts;
  readonly #epoch: number;
  readonly #files = new ContainerFiles();
  /** Collected and not committed yet, because the workspace was full or away. */
  readonly #pending = new Map<string, Change>();
  /** Of the workspace, that the files in the container are of. */
  #version = 0;
  /** Of what was brought in since, the version that it is of. */
  readonly #seen = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  /** It ends as lost when another instance has taken the task. */
  constructor(
    run: LiveRun,
    container: Container,
    face: SessionFace,
    owned: Pick<Share, "epoch" | "lost">,
    parts: SessionParts,
  ) {
    this.run = run;
    this.#epoch = owned.epoch;
    owned.lost.addEventListener("abort", () => run.cancel("daemon"), { once: true });
    if (owned.lost.aborted) run.cancel("daemon");
    this.container = container;
    this.face = face;
    this.#parts = parts;
    this.lastUsedMs = parts.clock.monotonicMs();
  }

  /** The workspace's version that the container has. */
  get version(): number {
    return this.#version;
  }

  /**
   * One after the other. Where something is committed, the end of the command that `end` tells of is recorded
   * in the same transaction; a session that was called lost commits nothing and ends.
   */
  async sync(end?: CommandEnd): Promise<void> {
    const next = this.#last.then(() => this.#sync(end));
    this.#last = next.catch(() => undefined);
    await next;
  }

  async #sync(end: CommandEnd | undefined): Promise<void> {
    this.face.pause(true);
    try {
      await this.#commit(end);
      if (this.#pending.size > 0) return;
      this.#version = await this.#bringIn();
      this.#seen.clear();
      for (const book of this.books) book.add(this.#files.outcomes);
    } finally {
      this.face.pause(false);
    }
  }

  async #commit(end: CommandEnd | undefined): Promise<void> {
    const { tenant } = this.run.execution;
    const changes: Change[] = [];
    const skipped: ChangeOutcome[] = [];
    const { collector } = this.#parts;
    this.#files.withhold(await collector.collect(tenant, this.container, this.run.cancelSignal, changes, skipped));
    const told = [...this.#files.outcomes, ...skipped];
    for (const change of changes) if (this.#files.changed(change, told)) this.#pending.set(pathOf(change), change);
    // The record of an end tells of all that is kept out, and is written before the rest is brought in.
    if (end !== undefined && this.#pending.size > 0) {
      await this.#bringInBeside().catch(() => undefined);
      end.book.add(this.#files.outcomes);
    }
    const { outcomes, version } = this.#pending.size === 0 ? nothing : await this.#write(end, told);
    for (const book of this.books) book.note([...told, ...outcomes], version);
  }

  /** Brings in what has nothing to do with what is yet to be committed. */
  async #bringInBeside(): Promise<void> {
    const paths = new Set(this.#pending.keys());
    const above = new Set([...paths].flatMap(foldersOf));
    await this.#bringIn((path) => paths.has(path) || above.has(path) || foldersOf(path).some((at) => paths.has(at)));
  }

  async #write(end: CommandEnd | undefined, told: readonly ChangeOutcome[]): Promise<Written> {
    const { workspaces, clock, space } = this.#parts;
    const { tenant, workspaceId, taskId, id } = this.run.execution;
    const key = end?.id ?? "";
    const options: CommitOptions = {
      since: this.#version,
      seen: this.#seen,
      exact: false,
      requestId: key,
      bodyHash: key,
      limits: space,
      under: { id, taskId, epoch: this.#epoch },
      ...(end && { ends: (commit) => endOf(end, commit, told) }),
    };
    try {
      const changes = [...this.#pending.values()];
      const made = await patiently(clock, () => workspaces.commit(tenant, workspaceId, changes, options));
      this.#pending.clear();
      return { outcomes: made.outcomes, version: made.workspace.version };
    } catch (error) {
      const failure = DroverError.from(error);
      if (failure.reason === "RUN_OVER") this.run.cancel("daemon");
      const { message: reason } = failure;
      return {
        outcomes: [...this.#pending.keys()].map((path) => ({ path, kind: "SKIPPED", size: 0, reason })),
        version: 0,
      };
    }
  }

  /** Gives the version of what was brought in. */
  async #bringIn(waits?: (path: string) => boolean): Promise<number> {
    const { workspaces } = this.#parts;
    const { tenant, workspaceId } = this.run.execution;
    const { workspace, files } = await workspaces.read(tenant, workspaceId);
    const brought = await this.#files.bringIn(tenant, files, workspaces, this.face, waits);
    for (const path of brought) this.#seen.set(path, workspace.version);
    return workspace.version;
  }
}

/** What a commit came to, and the version that the workspace has then. */
interface Written {
  readonly outcomes: readonly ChangeOutcome[];
  readonly version: number;
}

const nothing: Written = { outcomes: [], version: 0 };

function endOf({ book, endOf: made }: CommandEnd, commit: Commit, told: readonly ChangeOutcome[]): Execution {
  const seen = book.copy();
  seen.note([...told, ...commit.outcomes], commit.workspace.version);
  return made({ workspaceVersionAfter: seen.version, changes: seen.outcomes });
}
