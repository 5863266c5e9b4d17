import fc from "fast-check";
import { expect, test } from "vitest";
import { type Change, type FileEntry, mergeChanges, sizeAfter } from "./change-set.ts";
import { checkFolders } from "./workspace-path.ts";

const entry = (path: string, sha256 = "1"): FileEntry => ({ path, sha256, size: 10, executable: false });
const put = (path: string, sha256 = "1"): Change => ({ kind: "put", file: entry(path, sha256) });
const gone = (path: string): Change => ({ kind: "delete", path });
const manifest = (...files: FileEntry[]) => new Map(files.map((file) => [file.path, file]));
const kinds = (changes: Change[], current = manifest(), touched: string[] = []) =>
  Object.fromEntries(mergeChanges(changes, current, new Set(touched)).outcomes.map(({ path, kind }) => [path, kind]));

test("changes are told apart, and what changes nothing is left out", () => {
  const current = manifest(entry("same"), entry("edit"), entry("old"));
  expect(kinds([put("same"), put("edit", "2"), put("new"), gone("old"), gone("never")], current)).toEqual({
    edit: "MODIFIED",
    new: "ADDED",
    old: "DELETED",
  });
});

test("a path that somebody else wrote is a conflict, unless both wrote the same", () => {
  const current = manifest(entry("both", "theirs"), entry("agreed", "same"));
  const merge = mergeChanges(
    [put("both", "mine"), put("agreed", "same"), put("own")],
    current,
    new Set(["both", "agreed"]),
  );
  expect(merge.outcomes.map(({ path, kind }) => [path, kind])).toEqual([
    ["both", "CONFLICT"],
    ["own", "ADDED"],
  ]);
  expect(merge.apply).toEqual([put("own")]);
  expect(kinds([gone("both")], current, ["both"])).toEqual({ both: "CONFLICT" });
});

test("a file where a folder is, or below a file, is a conflict; replacing one by the other is not", () => {
  expect(kinds([put("d")], manifest(entry("d/x")))).toEqual({ d: "CONFLICT" });
  expect(kinds([put("f/x")], manifest(entry("f")))).toEqual({ "f/x": "CONFLICT" });
  expect(kinds([gone("d/x"), put("d")], manifest(entry("d/x")))).toEqual({ d: "ADDED", "d/x": "DELETED" });
  expect(kinds([put("f/x"), gone("f")], manifest(entry("f")))).toEqual({ f: "DELETED", "f/x": "ADDED" });
});

test("a deletion that gives way keeps its file, and what would lie on it gives way as well", () => {
  expect(kinds([gone("f"), put("f/x")], manifest(entry("f", "theirs")), ["f"])).toEqual({
    f: "CONFLICT",
    "f/x": "CONFLICT",
  });
  expect(kinds([gone("d/x"), put("d")], manifest(entry("d/x", "theirs")), ["d/x"])).toEqual({
    d: "CONFLICT",
    "d/x": "CONFLICT",
  });
  expect(kinds([put("n"), put("n/x")])).toEqual({ n: "ADDED", "n/x": "CONFLICT" });
});

test("a conflict says which path it clashes with", () => {
  const reasons = (changes: Change[], current: ReturnType<typeof manifest>, touched: string[] = []) =>
    Object.fromEntries(mergeChanges(changes, current, new Set(touched)).outcomes.map((o) => [o.path, o.reason]));
  expect(reasons([gone("b"), put("b/z")], manifest(entry("b", "theirs")), ["b"])).toEqual({
    b: "changed by another call since this run began",
    "b/z": '"b" is a file in the workspace, and this would lie below it',
  });
  expect(reasons([put("d")], manifest(entry("c"), entry("d/x/y")))).toEqual({
    d: '"d/x/y" is in the workspace, and would lie below this file',
  });
});

const paths = fc.constantFrom("a", "a/b", "a/b/c", "a/d", "e", "e/f");
const changeSet = fc.uniqueArray(fc.record({ path: paths, sha256: fc.constantFrom("1", "2"), deletes: fc.boolean() }), {
  selector: ({ path }) => path,
});

test("after any sequence of change sets no path is a file and a folder, and outcomes say what was written", () => {
  const sequences = fc.property(fc.array(fc.tuple(changeSet, fc.nat(3)), { maxLength: 8 }), (sequence) => {
    const versions = [manifest()];
    const written: ReadonlySet<string>[] = [];
    for (const [asked, age] of sequence) {
      const changes = asked.map(({ path, sha256, deletes }) => (deletes ? gone(path) : put(path, sha256)));
      const current = new Map(versions.at(-1));
      const touched = new Set(written.slice(Math.max(written.length - age, 0)).flatMap((set) => [...set]));
      const { apply, outcomes } = mergeChanges(changes, current, touched);
      const done = outcomes.filter(({ kind }) => kind !== "CONFLICT").map(({ path }) => path);
      expect(apply.map((change) => (change.kind === "put" ? change.file.path : change.path))).toEqual(done);
      for (const change of apply) {
        if (change.kind === "put") current.set(change.file.path, change.file);
        else current.delete(change.path);
      }
      checkFolders("files", new Set(current.keys()));
      expect(sizeAfter(versions.at(-1) ?? manifest(), apply).files).toBe(current.size);
      versions.push(current);
      written.push(new Set(done));
    }
  });
  fc.assert(sequences);
});

test("sizes count what is there afterwards", () => {
  expect(sizeAfter(manifest(entry("a"), entry("b")), [put("a", "2"), gone("b"), put("c")])).toEqual({
    files: 2,
    bytes: 20,
  });
});
