import { expect, test } from "vitest";
import { type Change, type FileEntry, mergeChanges, sizeAfter } from "./change-set.ts";

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

test("sizes count what is there afterwards", () => {
  expect(sizeAfter(manifest(entry("a"), entry("b")), [put("a", "2"), gone("b"), put("c")])).toEqual({
    files: 2,
    bytes: 20,
  });
});
