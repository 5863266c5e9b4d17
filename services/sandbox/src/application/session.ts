import { type Clock, DroverError } from "@drover/kernel";
import { type Change, type ChangeOutcome, type FileEntry, pathOf } from "../domain/change-set.ts";
import type { Execution } from "../domain/execution.ts";
import type { ChangeCollector, Collected } from "./change-collector.ts";
import type { LiveRun } from "./live-run.ts";
import { patiently } from "./patiently.ts";
import type { Commit, CommitOptions, Container, SessionFace, WorkspaceLimits, WorkspaceStore } from "./ports.ts";

/** What a session works with. */
export interface SessionParts {
  readonly workspaces: WorkspaceStore;
  readonly collector: ChangeCollector;
  readonly space: WorkspaceLimits;
  readonly clock: Clock;
}

/** A running command as its session sees it: paths that changed while it ran, with what became of them. */
export type ChangeBook = Map<string, ChangeOutcome>;

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
  /** What the container holds of the workspace, and as of which version. */
  readonly #here = new Map<string, FileEntry>();
  /** Collected and not committed yet, because the workspace was full or away. */
  readonly #pending = new Map<string, Change>();
  #version = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(run: LiveRun, container: Container, face: SessionFace, parts: SessionParts) {
    this.run = run;
    this.container = container;
    this.face = face;
    this.#parts = parts;
    this.lastUsedMs = parts.clock.monotonicMs();
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
      if (this.#pending.size === 0) await this.#bringIn();
    } finally {
      this.face.pause(false);
    }
  }

  async #commit(end: CommandEnd | undefined): Promise<void> {
    const { tenant } = this.run.execution;
    const changes: Change[] = [];
    const skipped: ChangeOutcome[] = [];
    await this.#parts.collector.collect(tenant, this.container, this.run.cancelSignal, changes, skipped);
    for (const change of changes) {
      this.#pending.set(pathOf(change), change);
      if (change.kind === "put") this.#here.set(change.file.path, change.file);
      else this.#here.delete(change.path);
    }
    const outcomes = [...skipped, ...(this.#pending.size === 0 ? [] : await this.#write(end, skipped))];
    for (const book of this.books) note(book, outcomes);
  }

  async #write(end: CommandEnd | undefined, skipped: readonly ChangeOutcome[]): Promise<readonly ChangeOutcome[]> {
    const { workspaces, clock, space } = this.#parts;
    const { tenant, workspaceId, id } = this.run.execution;
    const key = end?.id ?? "";
    const options: CommitOptions = {
      since: this.#version,
      exact: false,
      requestId: key,
      bodyHash: key,
      limits: space,
      under: id,
      ...(end && { ends: (commit) => endOf(end, commit, skipped) }),
    };
    try {
      const changes = [...this.#pending.values()];
      const { outcomes } = await patiently(clock, () => workspaces.commit(tenant, workspaceId, changes, options));
      this.#pending.clear();
      return outcomes;
    } catch (error) {
      const failure = DroverError.from(error);
      if (failure.reason === "RUN_OVER") this.run.cancel("daemon");
      return [...this.#pending.keys()].map((path) => ({ path, kind: "SKIPPED", size: 0, reason: failure.message }));
    }
  }

  async #bringIn(): Promise<void> {
    const { tenant, workspaceId } = this.run.execution;
    const { workspace, files } = await this.#parts.workspaces.read(tenant, workspaceId);
    for (const path of [...this.#here.keys()]) {
      if (files.has(path)) continue;
      await this.face.deleteFile(path);
      this.#here.delete(path);
    }
    const wanted = [...files.values()].filter((file) => {
      const present = this.#here.get(file.path);
      return present?.sha256 !== file.sha256 || present.executable !== file.executable;
    });
    for await (const { file, content } of this.#parts.workspaces.contents(tenant, wanted)) {
      await this.container.putFile({ path: file.path, content, executable: file.executable, ephemeral: false });
      this.#here.set(file.path, file);
    }
    this.#version = workspace.version;
  }
}

function endOf({ book, endOf: made }: CommandEnd, commit: Commit, skipped: readonly ChangeOutcome[]): Execution {
  const seen = new Map(book);
  note(seen, [...skipped, ...commit.outcomes]);
  const written = commit.outcomes.some(({ kind }) => kind !== "CONFLICT");
  return made({ workspaceVersionAfter: written ? commit.workspace.version : 0, changes: [...seen.values()] });
}

function note(book: ChangeBook, outcomes: readonly ChangeOutcome[]): void {
  for (const outcome of outcomes) book.set(outcome.path, outcome);
}
