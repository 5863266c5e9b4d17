import fc from "fast-check";
import { expect, test } from "vitest";
import { checkPaths, foldersOf, pathFault } from "./workspace-path.ts";

test.each(["a", "a/b.txt", "ünï/日本", ".hidden", "a..b", "...", "a b", "CON", "x".repeat(255)])(
  "%j is a clean path",
  (path) => {
    expect(pathFault(path)).toBeUndefined();
  },
);

test.each([
  "",
  "/",
  "/a",
  "..",
  "../a",
  "a/..",
  "a/../b",
  "./a",
  "a/.",
  "a//b",
  "a/",
  "a\u0000",
  "a\nb",
  "a\\b",
  "\ud800",
  "x".repeat(1025),
  "x".repeat(256),
  `a/${"é".repeat(128)}/b`,
  `${"d/".repeat(64)}x`,
])("%j is refused", (path) => {
  expect(pathFault(path)).toBeTypeOf("string");
});

test("a path that is accepted never leaves the root it is resolved against", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("..", ".", "", "a", "b\\", "/", "workspace"), { maxLength: 6 }), (parts) => {
      const path = parts.join("/");
      if (pathFault(path) !== undefined) return;
      expect(new URL(path, "file:///workspace/").pathname.startsWith("/workspace/")).toBe(true);
    }),
  );
});

test("twins and folders that are files are refused by name", () => {
  expect(() => checkPaths("files", ["a", "a"])).toThrow(/files\[1\]\.path.*"a" again.*each path once/s);
  expect(() => checkPaths("files", ["a/b", "a"])).toThrow(/files\[1\]\.path.*"a" as a file and as a folder/s);
  expect(() => checkPaths("files", ["ab", "a/b", "a.b"])).not.toThrow();
  expect(foldersOf("a/b/c")).toEqual(["a", "a/b"]);
});

test.each(["C:x", "c:/x", "CON", "a/nul.txt", "src/AUX/x", "com1", "lpt9.c"])(
  "%j is refused where a caller gives it",
  (path) => {
    expect(() => checkPaths("files", [path])).toThrow(/drive letter|device/);
    expect(() => checkPaths("deleted_paths", [path])).not.toThrow();
  },
);

test.each(["console.ts", "a/null.txt", "com10", "auxiliary", "a/C:b"])("%j is no device's name", (path) => {
  expect(() => checkPaths("files", [path])).not.toThrow();
});
