import { readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

/** Expected where a path names no file. */
const absent: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG"]);

/**
 * Reads files below `directory` by the segments of their path; undefined where there is none. Nothing outside the
 * folder is reached, not through links either. The folder may appear later.
 */
export function viewerDirectory(directory: string): (segments: readonly string[]) => Promise<Uint8Array | undefined> {
  return async (segments) => {
    try {
      const root = await realpath(directory);
      const file = await realpath(join(root, ...segments));
      return file.startsWith(root + sep) ? await readFile(file) : undefined;
    } catch (error) {
      if (error instanceof Error && "code" in error && absent.has(error.code)) return undefined;
      throw error;
    }
  };
}
