import { foldersOf } from "./workspace-path.ts";

/** A file of a workspace: its content by hash, never by value. */
export interface FileEntry {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
  readonly executable: boolean;
}

/** What a run or a caller wants to do to one path. */
export type Change =
  | { readonly kind: "put"; readonly file: FileEntry }
  | { readonly kind: "delete"; readonly path: string };

/** What became of one path. */
export interface ChangeOutcome {
  readonly path: string;
  readonly kind: "ADDED" | "MODIFIED" | "DELETED" | "SKIPPED" | "CONFLICT";
  readonly size: number;
  readonly reason: string;
}

/** The change set to write, and what to tell about every path. */
export interface Merge {
  readonly apply: readonly Change[];
  readonly outcomes: readonly ChangeOutcome[];
}

/** Files by path. */
export type Manifest = ReadonlyMap<string, FileEntry>;

/**
 * Merges changes that were made against an older version into the current one. `touched` are the
 * paths that other change sets wrote since that version: a change to one of them is a CONFLICT and
 * not taken over, unless both came to the same content. So is a file where there would be a folder
 * by then, or the other way round: its reason names the other path. Of two changes that clash so the
 * first one counts. Where no path of the current version is a file and a folder, none is after `apply`.
 */
export function mergeChanges(changes: readonly Change[], current: Manifest, touched: ReadonlySet<string>): Merge {
  const tree = new Tree(current.keys());
  for (const change of changes) {
    if (change.kind === "delete" && current.has(change.path) && !touched.has(change.path)) tree.remove(change.path);
  }
  const apply: Change[] = [];
  const outcomes: ChangeOutcome[] = [];
  for (const change of changes) {
    const path = pathOf(change);
    const present = current.get(path);
    const size = change.kind === "put" ? change.file.size : 0;
    if (isSame(change, present)) continue;
    const clash = touched.has(path) ? changedByAnother : tree.take(change);
    if (clash !== undefined) {
      outcomes.push({ path, kind: "CONFLICT", size, reason: clash });
      continue;
    }
    apply.push(change);
    const kind = change.kind === "delete" ? "DELETED" : present === undefined ? "ADDED" : "MODIFIED";
    outcomes.push({ path, kind, size, reason: "" });
  }
  return { apply, outcomes };
}

const changedByAnother = "changed by another call since this run began";

/** Number and size of a workspace's files after a change set. */
export function sizeAfter(current: Manifest, apply: readonly Change[]): { files: number; bytes: number } {
  const after = new Map(current);
  for (const change of apply) if (change.kind === "delete") after.delete(change.path);
  for (const change of apply) if (change.kind === "put") after.set(change.file.path, change.file);
  let bytes = 0;
  for (const file of after.values()) bytes += file.size;
  return { files: after.size, bytes };
}

/** The path that a change is about. */
export function pathOf(change: Change): string {
  return change.kind === "put" ? change.file.path : change.path;
}

function isSame(change: Change, present: FileEntry | undefined): boolean {
  if (change.kind === "delete") return present === undefined;
  return present?.sha256 === change.file.sha256 && present.executable === change.file.executable;
}

/** The files of a workspace while changes are taken over one by one. */
class Tree {
  readonly #files: Set<string>;
  /** How many files each folder has below it. */
  readonly #below = new Map<string, number>();

  constructor(paths: Iterable<string>) {
    this.#files = new Set(paths);
    for (const path of this.#files) this.#count(path, 1);
  }

  /** Why a put would clash; undefined where it is done, and for a deletion. */
  take(change: Change): string | undefined {
    return change.kind === "put" ? this.#add(change.file.path) : undefined;
  }

  remove(path: string): void {
    if (this.#files.delete(path)) this.#count(path, -1);
  }

  /** Why it cannot be added: the path is a folder here or lies below a file. Nothing is added then. */
  #add(path: string): string | undefined {
    const above = foldersOf(path).find((folder) => this.#files.has(folder));
    if (above !== undefined) return `${JSON.stringify(above)} is a file in the workspace, and this would lie below it`;
    if ((this.#below.get(path) ?? 0) > 0) {
      const below = [...this.#files].find((file) => file.startsWith(`${path}/`)) ?? "";
      return `${JSON.stringify(below)} is in the workspace, and would lie below this file`;
    }
    if (!this.#files.has(path)) this.#count(path, 1);
    this.#files.add(path);
    return undefined;
  }

  #count(path: string, change: 1 | -1): void {
    for (const folder of foldersOf(path)) this.#below.set(folder, (this.#below.get(folder) ?? 0) + change);
  }
}
