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
 * not taken over, unless both came to the same content. So is a file where the current version has
 * a folder, or the other way round.
 */
export function mergeChanges(changes: readonly Change[], current: Manifest, touched: ReadonlySet<string>): Merge {
  const apply: Change[] = [];
  const outcomes: ChangeOutcome[] = [];
  const deleted = new Set(changes.flatMap((change) => (change.kind === "delete" ? [change.path] : [])));
  const folders = new Set([...current.keys()].filter((path) => !deleted.has(path)).flatMap(foldersOf));
  for (const change of changes) {
    const path = pathOf(change);
    const present = current.get(path);
    const size = change.kind === "put" ? change.file.size : 0;
    if (isSame(change, present)) continue;
    if (touched.has(path) || clashes(change, current, folders, deleted)) {
      outcomes.push({ path, kind: "CONFLICT", size, reason: "changed by another call since this run began" });
      continue;
    }
    apply.push(change);
    const kind = change.kind === "delete" ? "DELETED" : present === undefined ? "ADDED" : "MODIFIED";
    outcomes.push({ path, kind, size, reason: "" });
  }
  return { apply, outcomes };
}

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

function clashes(
  change: Change,
  current: Manifest,
  folders: ReadonlySet<string>,
  deleted: ReadonlySet<string>,
): boolean {
  if (change.kind === "delete") return false;
  return (
    folders.has(change.file.path) ||
    foldersOf(change.file.path).some((folder) => current.has(folder) && !deleted.has(folder))
  );
}
