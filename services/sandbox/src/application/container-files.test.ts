import { expect, test } from "vitest";
import type { Change, FileEntry } from "../domain/change-set.ts";
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
  const bringIn = async (wanted: Record<string, string>) => {
    asked.length = 0;
    await files.bringIn("acme", manifest(wanted), workspaces, face);
    return [...asked];
  };
  return { files, bringIn, taken };
}

test("only what differs is brought in, and what is gone is deleted first", async () => {
  const { files, bringIn } = container();
  expect(await bringIn({ a: "1", b: "1" })).toEqual(["a=1", "b=1"]);
  expect(files.changed(put("b", "2"))).toBeUndefined();
  expect(await bringIn({ b: "2", c: "1" })).toEqual(["a-", "c=1"]);
  expect(await bringIn({ b: "2", c: "1" })).toEqual([]);
  expect(files.outcomes).toEqual([]);
});

test("what could not be brought in is told and tried again, and a change there is a conflict that gives way", async () => {
  const { files, bringIn, taken } = container("d/f");
  await bringIn({ "d/f": "theirs", e: "1" });
  expect(files.outcomes).toMatchObject([{ path: "d/f", kind: "SKIPPED" }]);
  expect(await bringIn({ "d/f": "theirs", e: "1" })).toEqual(["d/f=theirs"]);
  expect(files.changed(put("e", "2"))).toBeUndefined();
  expect(files.changed(put("d/f", "mine"))).toMatchObject({ path: "d/f", kind: "CONFLICT", size: 1 });
  taken.length = 0;
  expect(await bringIn({ "d/f": "theirs", e: "2" })).toEqual(["d/f=theirs"]);
  expect(files.outcomes).toEqual([]);
  expect(files.changed(put("d/f", "mine"))).toBeUndefined();
});

test("what could not be deleted is tried again, and does not come back", async () => {
  const { files, bringIn, taken } = container();
  await bringIn({ a: "1" });
  taken.push("a");
  expect(await bringIn({})).toEqual(["a-"]);
  expect(files.changed(put("a", "2"))).toMatchObject({ kind: "CONFLICT" });
  expect(await bringIn({})).toEqual(["a-"]);
});
