import { expect, test } from "vitest";
import { customLanguages, withCustom } from "./custom-languages.ts";
import { imageOf } from "./language.ts";
import { languages } from "./languages.ts";

const awk = { name: "awk", image: "me/awk:3", mainFile: "main.awk", command: ["/usr/bin/gawk", "-f", "{program}"] };

test("an entry is a language with a title, an environment and its own image", () => {
  const [language] = customLanguages(JSON.stringify([{ ...awk, environment: { A: "b" } }]));
  expect(language).toMatchObject({ ...awk, title: "awk", environment: { A: "b", HOME: "/tmp" } });
  expect(language && imageOf(language, "drover/sandbox-")).toBe("me/awk:3");
});

test.each<[string, unknown, RegExp]>([
  ["no JSON", "{", /a JSON list/],
  ["no list", "{}", /a JSON list/],
  ["no object", "[1]", /entry 0: allowed: an object/],
  ["an unknown key", [{ ...awk, run: [] }], /unknown key run/],
  ["a missing key", [awk, { ...awk, image: undefined }], /entry 1: image/],
  ["a name with spaces", [{ ...awk, name: "my awk" }], /entry 0: name/],
  ["a command without a path", [{ ...awk, command: ["gawk"] }], /command: allowed: words, the first a path/],
  ["a command that is a text", [{ ...awk, compile: "/bin/cc {program}" }], /compile/],
  ["a file in a folder", [{ ...awk, mainFile: "a/main.awk" }], /mainFile/],
  ["a file that leads out", [{ ...awk, mainFile: ".." }], /mainFile/],
  ["a variable that is no text", [{ ...awk, environment: { A: 1 } }], /environment/],
])("%s is refused", (_name, entries, message) => {
  const json = typeof entries === "string" ? entries : JSON.stringify(entries);
  expect(() => customLanguages(json)).toThrow(message);
});

test("an entry takes the place of the language of its name, and new ones come last", () => {
  const custom = customLanguages(JSON.stringify([awk, { ...awk, name: "python", image: "me/python:1" }]));
  const all = withCustom(languages, custom);
  expect(all.map(({ name }) => name)).toEqual([...languages.map(({ name }) => name), "awk"]);
  expect(all[0]?.image).toBe("me/python:1");
  expect(() => withCustom(languages, [...custom, ...custom])).toThrow(/same name/);
});
