import { type FieldViolation, invalidField, invalidFields } from "@drover/kernel";

const maxBytes = 1024;
const maxDepth = 64;
/** What Linux takes as one name. */
const maxPartBytes = 255;
const allowed =
  'a relative path with "/", at most 1,024 bytes, 64 levels and 255 bytes a part, without "..", ".", empty parts or control characters';

/** What is wrong with a path, or undefined where it is a clean path below the workspace root. */
export function pathFault(path: string): string | undefined {
  if (path === "") return "an empty path";
  if (!path.isWellFormed()) return "a path that is not Unicode";
  if (bytesOf(path) > maxBytes) return `${bytesOf(path)} bytes`;
  if (path.startsWith("/")) return "an absolute path";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f]/.test(path)) return "a control character";
  if (path.includes("\\")) return "a backslash";
  const parts = path.split("/");
  if (parts.length > maxDepth) return `${parts.length} levels`;
  if (parts.some((part) => part === "" || part === "." || part === "..")) return "a part that is empty, . or ..";
  const long = parts.find((part) => bytesOf(part) > maxPartBytes);
  return long === undefined ? undefined : `a part of ${bytesOf(long)} bytes`;
}

/**
 * What makes a path that a caller gives mean something else on another system, where its files may end up: a drive
 * letter, or a name that Windows keeps for a device. A program's own files may have such names.
 */
function foreignFault(path: string): string | undefined {
  if (/^[A-Za-z]:/.test(path)) return "a drive letter";
  const reserved = path.split("/").find((part) => /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?$/i.test(part));
  return reserved === undefined ? undefined : `the name ${reserved.slice(0, 40)}, which is a device's`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/**
 * Refuses a list of paths in which one is not clean, stands twice, or is a folder of another
 * (`a` and `a/b`). `field` is the list's name in the request.
 */
export function checkPaths(field: string, paths: readonly string[]): void {
  const violations: FieldViolation[] = [];
  const seen = new Set<string>();
  for (const [index, path] of paths.entries()) {
    const foreign = field === "files" ? foreignFault(path) : undefined;
    const fault = pathFault(path) ?? foreign;
    const at = `${field}[${index}].path`;
    if (fault !== undefined) violations.push({ field: at, found: fault, allowed });
    else if (seen.has(path)) {
      violations.push({ field: at, found: `${JSON.stringify(path)} again`, allowed: "each path once" });
    }
    seen.add(path);
  }
  if (violations.length > 0) throw invalidFields(violations.slice(0, 20));
  const clash = folderClash(seen);
  if (clash === undefined) return;
  const found = `${JSON.stringify(clash)} as a file and as a folder`;
  throw invalidField(`${field}[${paths.indexOf(clash)}].path`, found, "one of the two");
}

/** Refuses paths of which one is a file and a folder of the same set. */
export function checkFolders(field: string, paths: ReadonlySet<string>): void {
  const clash = folderClash(paths);
  if (clash === undefined) return;
  throw invalidField(`${field}.path`, `${JSON.stringify(clash)} as a file and as a folder`, "one of the two");
}

/** A path that is a file and a folder of the same set, or undefined. */
function folderClash(paths: ReadonlySet<string>): string | undefined {
  for (const path of paths) {
    const folder = foldersOf(path).find((candidate) => paths.has(candidate));
    if (folder !== undefined) return folder;
  }
  return undefined;
}

/** `a/b/c` → `a`, `a/b`. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
