import { expect, test } from "vitest";
import { callMadeAt } from "./call-time.ts";
import { imageOf, languageNamed, languages, programFileName } from "./language.ts";

test("an unknown language is refused with the list of all", () => {
  expect(() => languageNamed("perl")).toThrow(/language: found "perl", allowed one of python, javascript, bash/);
});

test("the program's file gives way to a file or a folder of the workspace", () => {
  const python = languageNamed("python");
  expect(programFileName(python, new Set())).toBe("main.py");
  expect(programFileName(python, new Set(["main.py", "main_1.py"]))).toBe("main_2.py");
  expect(programFileName(python, ["main.py/x", "main_1.py/y/z"])).toBe("main_2.py");
});

test("every language is complete", () => {
  for (const language of languages) {
    expect(language.command[0]).toMatch(/^\//);
    expect(imageOf(language, "drover/sandbox-")).toBe(`drover/sandbox-${language.name}:1`);
  }
});

test("a call id of version 7 tells when it was made", () => {
  expect(callMadeAt("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")).toBe(Date.UTC(2022, 1, 22, 19, 22, 22));
  expect(callMadeAt("f47ac10b-58cc-4372-a567-0e02b2c3d479")).toBeUndefined();
});
