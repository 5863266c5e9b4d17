import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { chmod, mkdir, open, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CollectedChange, CollectLimits, ContainerFile } from "../../application/ports.ts";
import { foldersOf } from "../../domain/workspace-path.ts";

type Dirent = Awaited<ReturnType<typeof listing>>[number];
type OnChange = (change: CollectedChange) => Promise<void>;

/** Paths that stand in a change set; anything else a program may name a file is skipped. */
const plainName = /^[^\p{Cc}\\/]{1,255}$/u;
const maxDepth = 64;

/** Files of one local run, compared with what they were when they were sent or collected last. */
export class LocalFiles {
  readonly #folder: string;
  #known = new Map<string, string>();
  readonly #ephemeral = new Set<string>();
  /** What was left out the last time; "" is the folder itself. */
  readonly #kept = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put({ path, content, executable, ephemeral }: ContainerFile): Promise<void> {
    const target = join(this.#folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    await chmod(target, executable ? 0o755 : 0o644);
    if (ephemeral) this.#ephemeral.add(path);
    else this.#known.set(path, fingerprint(content, executable));
  }

  /** Reports what was added, changed and removed, regular files only. */
  async collect(limits: CollectLimits, onChange: OnChange): Promise<void> {
    const before = this.#known;
    this.#known = new Map();
    this.#kept.clear();
    const room = { files: limits.maxFiles, bytes: limits.maxBytes };
    await this.#walk("", 0, before, room, onChange);
    for (const [path, print] of before) {
      if (this.#known.has(path)) continue;
      if (this.#isKept(path)) this.#known.set(path, print);
      else await onChange({ kind: "delete", path });
    }
  }

  async #walk(
    folder: string,
    depth: number,
    before: ReadonlyMap<string, string>,
    room: { files: number; bytes: number },
    onChange: OnChange,
  ): Promise<void> {
    const entries = await listing(join(this.#folder, folder)).catch(() => undefined);
    if (entries === undefined) {
      this.#kept.add(folder);
      return await onChange({ kind: "skip", path: folder, reason: "UNREADABLE" });
    }
    for (const entry of entries) {
      const name = entry.name.toString("utf8");
      const path = folder === "" ? name : `${folder}/${name}`;
      if (this.#ephemeral.has(path)) continue;
      const reason = reasonAgainst(entry, name, depth);
      if (reason !== undefined) {
        this.#kept.add(path);
        await onChange({ kind: "skip", path, reason });
      } else if (entry.isDirectory()) await this.#walk(path, depth + 1, before, room, onChange);
      else await this.#file(path, before, room, onChange);
    }
  }

  async #file(
    path: string,
    before: ReadonlyMap<string, string>,
    room: { files: number; bytes: number },
    onChange: OnChange,
  ): Promise<void> {
    const read = await readPlain(join(this.#folder, path), room.bytes);
    if (typeof read === "string") {
      this.#kept.add(path);
      return await onChange({ kind: "skip", path, reason: read });
    }
    const { content, executable } = read;
    const print = fingerprint(content, executable);
    this.#known.set(path, print);
    if (before.get(path) === print) return;
    if (room.files < 1) return await onChange({ kind: "skip", path, reason: "OVER_FILE_LIMIT" });
    room.files--;
    room.bytes -= content.length;
    await onChange({ kind: "put", path, content, executable });
  }

  /** What is not taken over is not removed either, nor what was below a folder that is not. */
  #isKept(path: string): boolean {
    return [path, ...foldersOf(path), ""].some((left) => this.#kept.has(left));
  }
}

async function listing(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true, encoding: "buffer" });
  return entries.sort((a, b) => Buffer.compare(a.name, b.name));
}

function reasonAgainst(entry: Dirent, name: string, depth: number): string | undefined {
  if (!plainName.test(name) || !Buffer.from(name).equals(entry.name)) return "NAME_NOT_ALLOWED";
  if (entry.isSymbolicLink()) return "SYMLINK";
  if (entry.isDirectory()) return depth >= maxDepth ? "TOO_DEEP" : undefined;
  return entry.isFile() ? undefined : "NOT_A_REGULAR_FILE";
}

async function readPlain(path: string, most: number): Promise<{ content: Buffer; executable: boolean } | string> {
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size, mode } = await file.stat();
    if (size > most) return "OVER_BYTE_LIMIT";
    return { content: await file.readFile(), executable: (mode & 0o100) !== 0 };
  } catch {
    return "UNREADABLE";
  }
}

function fingerprint(content: Uint8Array, executable: boolean): string {
  return `${executable} ${createHash("sha256").update(content).digest("hex")}`;
}
