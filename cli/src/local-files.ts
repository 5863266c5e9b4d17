import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { usageFailure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** A file of this machine. */
export interface LocalFile {
  /** Name without folders. */
  readonly name: string;
  readonly path: string;
  readonly content: Uint8Array;
}

/** Reads a file, or standard input for `-`. Throws a usage failure where it cannot be read. */
export async function readSource(path: string, terminal: Terminal): Promise<Uint8Array> {
  return path === "-" ? await terminal.readInput() : (await readLocal(path)).content;
}

/** Reads files in order. Throws a usage failure where one cannot be read or two have the same name. */
export async function readLocals(paths: readonly string[]): Promise<readonly LocalFile[]> {
  const files = await Promise.all(paths.map(readLocal));
  const seen = new Map<string, string>();
  for (const { name, path } of files) {
    const other = seen.get(name);
    if (other !== undefined) {
      throw usageFailure(`${other} and ${path} have the same name.`, "Files keep only their own name: rename one.");
    }
    seen.set(name, path);
  }
  return files;
}

async function readLocal(path: string): Promise<LocalFile> {
  try {
    return { name: basename(path), path, content: await readFile(path) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown fault";
    const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : code;
    throw usageFailure(`${path} cannot be read: ${why}.`, "Name a file that this user can read.");
  }
}
