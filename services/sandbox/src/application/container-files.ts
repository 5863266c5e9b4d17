import { type Change, type ChangeOutcome, type FileEntry, type Manifest, pathOf } from "../domain/change-set.ts";
import type { SessionFace, WorkspaceStore } from "./ports.ts";

/** Outcomes that tell of files which could not be brought in, at most; the rest is as true and would say the same. */
const mostTold = 100;

/**
 * What a session's container holds of its workspace. What commands left there may keep a file of the workspace out,
 * or one that the workspace has no more in: it is told, tried again each time, and what a command makes of that
 * path meanwhile is a conflict, because it never saw the workspace's.
 */
export class ContainerFiles {
  readonly #here = new Map<string, FileEntry>();
  #refused: ReadonlyMap<string, string> = new Map();

  /** The container holds this now. The conflict, where the change may not be committed. */
  changed(change: Change): ChangeOutcome | undefined {
    const path = pathOf(change);
    if (change.kind === "put") this.#here.set(path, change.file);
    else this.#here.delete(path);
    const reason = this.#refused.get(path);
    if (reason === undefined) return undefined;
    const size = change.kind === "put" ? change.file.size : 0;
    return { path, kind: "CONFLICT", size, reason: `another call's version could not be brought in: ${reason}` };
  }

  /** Of each path that could not be brought in the last time. */
  get outcomes(): readonly ChangeOutcome[] {
    const told = [...this.#refused].slice(0, mostTold);
    return told.map(([path, reason]) => ({
      path,
      kind: "SKIPPED",
      size: 0,
      reason: `the workspace's version could not be brought in: ${reason}`,
    }));
  }

  /** Makes the container hold these files, as far as what commands left lets it. */
  async bringIn(tenant: string, files: Manifest, workspaces: WorkspaceStore, face: SessionFace): Promise<void> {
    const gone = [...this.#here.keys()].filter((path) => !files.has(path));
    const wanted = [...files.values()].filter((file) => {
      const present = this.#here.get(file.path);
      return present?.sha256 !== file.sha256 || present.executable !== file.executable;
    });
    for (const path of gone) await face.deleteFile(path);
    for await (const { file, content } of workspaces.contents(tenant, wanted)) {
      await face.putFile({ path: file.path, content, executable: file.executable, ephemeral: false });
    }
    this.#refused = gone.length + wanted.length === 0 ? new Map() : await face.settle();
    for (const path of gone) if (!this.#refused.has(path)) this.#here.delete(path);
    for (const file of wanted) if (!this.#refused.has(file.path)) this.#here.set(file.path, file);
  }
}
