import { expect, test } from "vitest";
import { callMadeAt } from "./call-time.ts";
import { commandLine, environmentOf, imageOf, languageNamed, programFileName, sizesOf, sourcesOf } from "./language.ts";
import { languages } from "./languages.ts";

const named = (name: string) => languageNamed(name, languages);

test("an unknown language is refused with the list of all", () => {
  expect(() => named("perl")).toThrow(/language: found "perl", allowed one of python, javascript, typescript, bash/);
});

test("the program's file gives way to a file or a folder of the workspace", () => {
  const python = named("python");
  expect(programFileName(python, new Set())).toBe("main.py");
  expect(programFileName(python, new Set(["main.py", "main_1.py"]))).toBe("main_2.py");
  expect(programFileName(python, ["main.py/x", "main_1.py/y/z"])).toBe("main_2.py");
});

test("a program whose compiler insists on its name goes into a folder of its own", () => {
  expect(programFileName(named("java"), ["Main.java", "Main_1/x"])).toBe("Main_2/Main.java");
});

test("a program is its own file, sources beside it, and sources that came with the call", () => {
  const files = {
    program: "main_1.c",
    workspace: ["main.c", "a.c", "a.h", "old/b.c"],
    given: ["lib/c.c", "a.c", "lib/c.h"],
  };
  expect(sourcesOf(named("c"), files)).toEqual(["main_1.c", "a.c", "lib/c.c"]);
  const go = { program: "main.go", workspace: ["x.go", "x_test.go"], given: ["y/z.go"] };
  expect(sourcesOf(named("go"), go)).toEqual(["main.go", "x.go"]);
});

const sizes = sizesOf({ memoryBytes: 512 << 20, cpuMillis: 1000 });

test("sizes follow the limits, and their defaults where a limit is not in force", () => {
  expect(sizes).toEqual({ memory: String(512 << 20), heap: "320", cpus: "1" });
  expect(sizesOf({ memoryBytes: 0, cpuMillis: 0 })).toEqual(sizes);
  expect(sizesOf({ memoryBytes: 128 << 20, cpuMillis: 1001 })).toMatchObject({ heap: "80", cpus: "2" });
  expect(environmentOf(named("go"), sizes)).toMatchObject({ GOMAXPROCS: "1", GOMEMLIMIT: "320MiB", HOME: "/tmp" });
  expect(commandLine(named("java").command, { root: "/w", build: "/b", ...sizes }, ["a"])).toContain(
    "-XX:MaxRAM=536870912",
  );
});

test("placeholders are filled in, also within a word, and nothing else is", () => {
  const words = ["/bin/cc", "-I{root}", "{sources}", "{other}", "{build}/{program}.o"];
  expect(commandLine(words, { root: "/w", build: "/b", ...sizes }, ["a$&.c", "b.c"])).toEqual([
    "/bin/cc",
    "-I/w",
    "/w/a$&.c",
    "/w/b.c",
    "{other}",
    "/b//w/a$&.c.o",
  ]);
});

test("every language is complete", () => {
  for (const language of languages) {
    expect(language.command[0]).toMatch(/^(\/|\{build\}\/)/);
    expect(language.compile?.[0] ?? "/").toMatch(/^\//);
    expect([...(language.compile ?? []), ...language.command].join(" ")).toMatch(/\{(program|sources)\}/);
    expect(imageOf(language, "drover/sandbox-")).toBe(`drover/sandbox-${language.name}:6`);
  }
});

test("a call id of version 7 tells when it was made", () => {
  expect(callMadeAt("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")).toBe(Date.UTC(2022, 1, 22, 19, 22, 22));
  expect(callMadeAt("f47ac10b-58cc-4372-a567-0e02b2c3d479")).toBeUndefined();
});
