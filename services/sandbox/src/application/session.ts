import { DroverError } from "@drover/kernel";
import { type Change, type ChangeOutcome, type FileEntry, pathOf } from "../domain/change-set.ts";
import type { ChangeCollector } from "./change-collector.ts";
import type { LiveRun } from "./live-run.ts";
import type { Container, SessionFace, WorkspaceLimits, WorkspaceStore } from "./ports.ts";

/** What a session works with. */
export interface SessionParts {
  readonly workspaces: WorkspaceStore;
  readonly collector: ChangeCollector;
  readonly space: WorkspaceLimits;
}

/** A running command as its session sees it: paths that changed while it ran, with what became of them. */
export type ChangeBook = Map<string, ChangeOutcome>;

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
  /** Resolves when the container is gone. */
  ended: Promise<void> = Promise.resolve();
  readonly #parts: SessionParts;
  /** What the container holds of the workspace, and as of which version. */
  readonly #here = new Map<string, FileEntry>();
  /** Collected and not committed yet, because the workspace was full or away. */
  readonly #pending = new Map<string, Change>();
  #version = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(run: LiveRun, container: Container, face: SessionFace, parts: SessionParts, nowMs: number) {
    this.run = run;
    this.container = container;
    this.face = face;
    this.#parts = parts;
    this.lastUsedMs = nowMs;
  }

  get version(): number {
    return this.#version;
  }

  /** Resolves with true where a change set was written. One after the other. */
  async sync(): Promise<boolean> {
    const next = this.#last.then(() => this.#sync());
    this.#last = next.catch(() => undefined);
    return await next;
  }

  async #sync(): Promise<boolean> {
    this.face.pause(true);
    try {
      const written = await this.#commit();
      if (this.#pending.size === 0) await this.#bringIn();
      return written;
    } finally {
      this.face.pause(false);
    }
  }

  async #commit(): Promise<boolean> {
    const { tenant, workspaceId } = this.run.execution;
    const changes: Change[] = [];
    const outcomes: ChangeOutcome[] = [];
    await this.#parts.collector.collect(tenant, this.container, this.run.cancelSignal, changes, outcomes);
    for (const change of changes) {
      this.#pending.set(pathOf(change), change);
      if (change.kind === "put") this.#here.set(change.file.path, change.file);
      else this.#here.delete(change.path);
    }
    let written = false;
    if (this.#pending.size > 0) {
      try {
        const commit = await this.#parts.workspaces.commit(tenant, workspaceId, [...this.#pending.values()], {
          since: this.#version,
          exact: false,
          requestId: "",
          bodyHash: "",
          limits: this.#parts.space,
        });
        this.#pending.clear();
        outcomes.push(...commit.outcomes);
        written = commit.outcomes.some(({ kind }) => kind !== "CONFLICT");
      } catch (error) {
        const reason = DroverError.from(error).message;
        for (const path of this.#pending.keys()) outcomes.push({ path, kind: "SKIPPED", size: 0, reason });
      }
    }
    for (const book of this.books) for (const outcome of outcomes) book.set(outcome.path, outcome);
    return written;
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
