import { type Change, type ChangeOutcome, type FileEntry, type Manifest, pathOf } from "../domain/change-set.ts";
import type { SessionFace, WorkspaceStore } from "./ports.ts";

/** Outcomes that tell of files which could not be brought in, at most; the rest is as true and would say the same. */
const mostTold = 100;

const tooLarge = "what a command wrote there is too large to be taken over";

/**
 * What a session's container holds of its workspace. What commands left there may keep a file of the workspace out,
 * or one that the workspace has no more in: it is told, tried again each time, and what a command writes to that
 * path meanwhile is a conflict, because it never saw the workspace's.
 */
export class ContainerFiles {
  readonly #here = new Map<string, FileEntry>();
  /** What is here and was not taken over, though process 1 takes it for that: nothing else may take its place. */
  readonly #withheld = new Set<string>();
  #refused: ReadonlyMap<string, string> = new Map();

  /** The container holds this now. False where the change may not be committed; a conflict is put into `told`. */
  changed(change: Change, told: ChangeOutcome[]): boolean {
    const path = pathOf(change);
    this.#withheld.delete(path);
    if (change.kind === "put") this.#here.set(path, change.file);
    else this.#here.delete(path);
    const reason = this.#refused.get(path);
    if (reason === undefined) return true;
    // What was removed was in the way, or comes back; that the workspace's version was not here is told as it is.
    if (change.kind === "put") {
      const { size } = change.file;
      told.push({ path, kind: "CONFLICT", size, reason: `another call's version could not be brought in: ${reason}` });
    }
    return false;
  }

  /** These files are here and were not taken over; process 1 tells of them again when they change. */
  withhold(paths: readonly string[]): void {
    for (const path of paths) this.#withheld.add(path);
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

  /**
   * Makes the container hold these files, as far as what commands left lets it, but for those that `waits` names:
   * they are left as they are. Gives the paths that are as in the workspace now and were not before.
   */
  async bringIn(
    tenant: string,
    files: Manifest,
    workspaces: WorkspaceStore,
    face: SessionFace,
    waits: (path: string) => boolean = () => false,
  ): Promise<readonly string[]> {
    const refused = new Map([...this.#refused].filter(([path]) => waits(path)));
    const free = (path: string) => {
      if (waits(path)) return false;
      if (this.#withheld.has(path)) refused.set(path, tooLarge);
      return !this.#withheld.has(path);
    };
    const gone = [...this.#here.keys()].filter((path) => !files.has(path) && free(path));
    const wanted = [...files.values()].filter((file) => {
      const present = this.#here.get(file.path);
      const same = present?.sha256 === file.sha256 && present.executable === file.executable;
      return !same && free(file.path);
    });
    for (const path of gone) await face.deleteFile(path);
    for await (const { file, content } of workspaces.contents(tenant, wanted)) {
      await face.putFile({ path: file.path, content, executable: file.executable, ephemeral: false });
    }
    if (gone.length + wanted.length > 0) for (const [path, reason] of await face.settle()) refused.set(path, reason);
    this.#refused = refused;
    for (const path of gone) if (!refused.has(path)) this.#here.delete(path);
    for (const file of wanted) if (!refused.has(file.path)) this.#here.set(file.path, file);
    return [...gone, ...wanted.map(({ path }) => path)].filter((path) => !refused.has(path));
  }
}
