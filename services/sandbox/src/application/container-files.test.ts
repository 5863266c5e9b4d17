import { expect, test } from "vitest";
import type { Change, ChangeOutcome, FileEntry } from "../domain/change-set.ts";
import { ContainerFiles } from "./container-files.ts";
import type { SessionFace, WorkspaceStore } from "./ports.ts";

const entry = (path: string, text: string): FileEntry => ({ path, sha256: text, size: 1, executable: false });
const put = (path: string, text: string): Change => ({ kind: "put", file: entry(path, text) });
const manifest = (files: Record<string, string>) =>
  new Map(Object.entries(files).map(([path, text]) => [path, entry(path, text)]));

const workspaces = {
  async *contents(_tenant, files) {
    for (const file of files) yield { file, content: Buffer.from(file.sha256) };
  },
} as Pick<WorkspaceStore, "contents"> as WorkspaceStore;

/** A container in which some paths are taken. */
function container(...taken: string[]) {
  const asked: string[] = [];
  const face = {
    putFile: async ({ path, content }) => void asked.push(`${path}=${Buffer.from(content)}`),
    deleteFile: async (path) => void asked.push(`${path}-`),
    settle: async () => new Map(taken.map((path) => [path, "a link is in its way"])),
  } as Pick<SessionFace, "putFile" | "deleteFile" | "settle"> as SessionFace;
  const files = new ContainerFiles();
  const bringIn = async (wanted: Record<string, string>, waits?: (path: string) => boolean) => {
    asked.length = 0;
    await files.bringIn("acme", manifest(wanted), workspaces, face, waits);
    return [...asked];
  };
  const changed = (change: Change) => {
    const told: ChangeOutcome[] = [];
    return files.changed(change, told) || told.map(({ path, kind, size }) => [path, kind, size]);
  };
  return { files, bringIn, changed, taken };
}

test("only what differs is brought in, and what is gone is deleted first", async () => {
  const { files, bringIn, changed } = container();
  expect(await bringIn({ a: "1", b: "1" })).toEqual(["a=1", "b=1"]);
  expect(changed(put("b", "2"))).toBe(true);
  expect(await bringIn({ b: "2", c: "1" })).toEqual(["a-", "c=1"]);
  expect(await bringIn({ b: "2", c: "1" })).toEqual([]);
  expect(files.outcomes).toEqual([]);
});

test("what could not be brought in is told and tried again, and a change there is a conflict that gives way", async () => {
  const { files, bringIn, changed, taken } = container("d/f");
  await bringIn({ "d/f": "theirs", e: "1" });
  expect(files.outcomes).toMatchObject([{ path: "d/f", kind: "SKIPPED" }]);
  expect(await bringIn({ "d/f": "theirs", e: "1" })).toEqual(["d/f=theirs"]);
  expect(changed(put("e", "2"))).toBe(true);
  expect(changed(put("d/f", "mine"))).toEqual([["d/f", "CONFLICT", 1]]);
  taken.length = 0;
  expect(await bringIn({ "d/f": "theirs", e: "2" })).toEqual(["d/f=theirs"]);
  expect(files.outcomes).toEqual([]);
  expect(changed(put("d/f", "mine"))).toBe(true);
});

test("what could not be deleted is tried again, and does not come back", async () => {
  const { bringIn, changed, taken } = container();
  await bringIn({ a: "1" });
  taken.push("a");
  expect(await bringIn({})).toEqual(["a-"]);
  expect(changed(put("a", "2"))).toEqual([["a", "CONFLICT", 1]]);
  expect(await bringIn({})).toEqual(["a-"]);
});

test("what is missing where nothing could be brought in is no conflict, and comes when the way is free", async () => {
  const { files, bringIn, changed, taken } = container("d/f");
  await bringIn({ "d/f": "theirs" });
  taken.length = 0;
  expect(changed({ kind: "delete", path: "d/f" })).toEqual([]);
  expect(files.outcomes).toMatchObject([{ path: "d/f", kind: "SKIPPED" }]);
  expect(await bringIn({ "d/f": "theirs" })).toEqual(["d/f=theirs"]);
  expect(files.outcomes).toEqual([]);
});

test("what was too large to be taken over is not replaced, until it changes", async () => {
  const { files, bringIn, changed } = container();
  await bringIn({ a: "1", b: "1" });
  files.withhold(["a", "b"]);
  expect(await bringIn({ a: "2" })).toEqual([]);
  expect(files.outcomes).toMatchObject([
    { path: "b", kind: "SKIPPED" },
    { path: "a", kind: "SKIPPED", reason: expect.stringContaining("too large") },
  ]);
  expect(changed(put("a", "mine"))).toEqual([["a", "CONFLICT", 1]]);
  expect(changed({ kind: "delete", path: "b" })).toEqual([]);
  expect(await bringIn({ a: "2" })).toEqual(["a=2"]);
});

test("what waits is left as it is, and told as before", async () => {
  const { files, bringIn } = container("a");
  await bringIn({ a: "1" });
  expect(await bringIn({ a: "1", b: "1" }, (path) => path === "a")).toEqual(["b=1"]);
  expect(files.outcomes).toMatchObject([{ path: "a", kind: "SKIPPED" }]);
});
