import { invalidField } from "@drover/kernel";
import { foldersOf } from "./workspace-path.ts";

/** A language that programs can be written in; everything about it is data. */
export interface Language {
  /** What callers say, e.g. `python`. */
  readonly name: string;
  readonly title: string;
  /** Name of the program's file; see {@link programFileName}. */
  readonly mainFile: string;
  /** Command line before the program's file; the first word is an absolute path. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Changes together with what the service expects of an image: drover-init's protocol, the paths of programs. */
const imageVersion = "1";

const base = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8", TMPDIR: "/tmp" } as const;

/** The languages, in the order they are listed. */
export const languages: readonly Language[] = [
  {
    name: "python",
    title: "Python 3.13",
    mainFile: "main.py",
    command: ["/usr/bin/python3", "-B"],
    environment: { ...base, PYTHONUNBUFFERED: "1" },
  },
  {
    name: "javascript",
    title: "JavaScript (Node.js 20)",
    mainFile: "main.js",
    // Node sizes its heap by the host's memory; 320 MB leaves room under the default limit of 512.
    command: ["/usr/bin/node", "--max-old-space-size=320"],
    environment: base,
  },
  {
    name: "bash",
    title: "Bash 5.2",
    mainFile: "main.sh",
    command: ["/usr/bin/bash"],
    environment: base,
  },
];

/** Name of a language's image: `drover/sandbox-python:1` for the prefix `drover/sandbox-`. */
export function imageOf(language: Language, prefix: string): string {
  return `${prefix}${language.name}:${imageVersion}`;
}

/** The language of that name, or INVALID_ARGUMENT that lists all names. */
export function languageNamed(name: string): Language {
  const found = languages.find((language) => language.name === name);
  if (found === undefined) {
    const allowed = `one of ${languages.map((language) => language.name).join(", ")}`;
    throw invalidField("language", JSON.stringify(name.slice(0, 40)), allowed);
  }
  return found;
}

/**
 * Where the program goes: its language's main file, or a numbered variant of it where the working
 * directory holds a file or a folder of that name already; `paths` are its files. It stands beside the other files, so that imports
 * work, and is never part of the workspace.
 */
export function programFileName(language: Language, paths: Iterable<string>): string {
  const taken = new Set([...paths].flatMap((path) => [path, ...foldersOf(path)]));
  if (!taken.has(language.mainFile)) return language.mainFile;
  const dot = language.mainFile.lastIndexOf(".");
  for (let n = 1; ; n++) {
    const name = `${language.mainFile.slice(0, dot)}_${n}${language.mainFile.slice(dot)}`;
    if (!taken.has(name)) return name;
  }
}
