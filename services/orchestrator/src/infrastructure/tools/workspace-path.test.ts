import fc from "fast-check";
import { expect, test } from "vitest";
import { globUnder, shownPath, workspacePath } from "./workspace-path.ts";

test.each([
  ["/workspace/a/b.txt", "a/b.txt"],
  ["a/b.txt", "a/b.txt"],
  ["./a//b.txt", "a/b.txt"],
  ["/workspace", ""],
  ["", ""],
  ["/workspace/**/*.log", "**/*.log"],
])("%s is %s", (written, path) => {
  expect(workspacePath(written)).toEqual({ path });
});

test.each(["/etc/passwd", "/workspacex/a", "../a", "a/../../b", "/workspace/../etc", "a\0b"])(
  "%j is refused",
  (written) => {
    expect(workspacePath(written)).toMatchObject({ refused: { errorCode: "BAD_PATH" } });
  },
);

test("a path is never absolute and never climbs, and reading its shown form gives it back", () => {
  const part = fc.constantFrom("a", "..", ".", "", "workspace", "b.txt", "…");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), fc.boolean(), (parts, absolute) => {
      const result = workspacePath((absolute ? "/" : "") + parts.join("/"));
      if ("refused" in result) return;
      expect(result.path.split("/")).not.toContain("..");
      expect(result.path.startsWith("/")).toBe(false);
      expect(workspacePath(shownPath(result.path))).toEqual(result);
    }),
  );
});

test("globs under a folder", () => {
  expect(globUnder("", "**")).toBe("**");
  expect(globUnder("a", "**")).toBe("a/**");
  expect(globUnder("a", "")).toBe("a/**");
});
