import { expect, test } from "vitest";
import { readableText } from "./readable-text.ts";

test("a program within JSON stands as it was written", () => {
  const text = JSON.stringify({ language: "python", code: 'if a:\n    print("b")\n', list: ["x\ny"] });
  expect(readableText(text).split("\n")).toEqual([
    "{",
    '  "language": "python",',
    '  "code":',
    "    if a:",
    '        print("b")',
    '  "list": [',
    "    -",
    "      x",
    "      y",
    "  ]",
    "}",
  ]);
});

test.each(["plain\ntext", "{not json", '{"a": "b\\n"}', "[1,2]"])("%j loses nothing", (text) => {
  expect(readableText(text).replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
});

test("a string that looks like the pattern costs no time", () => {
  const text = JSON.stringify({ a: `${'\\"'.repeat(30_000)}\n`, b: `${"\\".repeat(30_000)}x\ny` });
  expect(readableText(text)).toContain("x\n");
});
