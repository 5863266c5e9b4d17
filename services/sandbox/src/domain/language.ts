import { invalidField } from "@drover/kernel";
import { foldersOf } from "./workspace-path.ts";

/**
 * A language that programs can be written in; everything about it is data. In the words of its command
 * lines `{program}` is the program's file, `{root}` the working folder, `{build}` a folder for what a
 * compiler makes, and a word `{sources}` stands for all files of the program; the first word of each is
 * a path.
 */
export interface Language {
  /** What callers say, e.g. `python`. */
  readonly name: string;
  readonly title: string;
  /** Image that it runs in; absent for one that comes with the service, see {@link imageOf}. */
  readonly image?: string;
  /** Name of the program's file; see {@link programFileName}. */
  readonly mainFile: string;
  /** The compiler insists on the file's name: where it is taken, the program goes into a folder of its own. */
  readonly fixedName?: boolean;
  /** Endings of files that are part of the program beside its own file, for `{sources}`. */
  readonly sources?: readonly string[];
  /** Endings of files that are not, although they end in one of {@link sources}. */
  readonly ignoredSources?: readonly string[];
  /** Only files of the program's own folder are compiled together. */
  readonly oneFolder?: boolean;
  /** Command line of the first phase; absent where the text itself is run. */
  readonly compile?: readonly string[];
  /** Command line of the program; its arguments follow. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Changes together with what the service expects of an image: drover-init's protocol, the paths of programs. */
const imageVersion = "3";

/** Name of a language's image: `drover/sandbox-python:3` for the prefix `drover/sandbox-`, or the one it names itself. */
export function imageOf(language: Language, prefix: string): string {
  return language.image ?? `${prefix}${language.name}:${imageVersion}`;
}

/** The language of that name, or INVALID_ARGUMENT that lists all names. */
export function languageNamed(name: string, languages: readonly Language[]): Language {
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
  const { mainFile } = language;
  if (!taken.has(mainFile)) return mainFile;
  const dot = mainFile.lastIndexOf(".");
  const [stem, ending] = dot < 1 ? [mainFile, ""] : [mainFile.slice(0, dot), mainFile.slice(dot)];
  for (let n = 1; ; n++) {
    const name = language.fixedName === true ? `${stem}_${n}` : `${stem}_${n}${ending}`;
    if (!taken.has(name)) return language.fixedName === true ? `${name}/${mainFile}` : name;
  }
}

/** The files around a program: those of its workspace, and those that came with the call. */
export interface ProgramFiles {
  readonly program: string;
  readonly workspace: readonly string[];
  readonly given: readonly string[];
}

/**
 * The files that make up the program, its own first. Of the workspace only the topmost folder counts,
 * without the main file that the program stands in for; a file that came with the call counts anywhere.
 */
export function sourcesOf(language: Language, { program, workspace, given }: ProgramFiles): string[] {
  const isSource = (path: string) =>
    path !== program &&
    path !== language.mainFile &&
    (language.sources ?? []).some((ending) => path.endsWith(ending)) &&
    !(language.ignoredSources ?? []).some((ending) => path.endsWith(ending));
  const top = (path: string) => !path.includes("/");
  const deep = given.filter((path) => language.oneFolder !== true || top(path));
  return [program, ...new Set([...workspace.filter(top), ...deep].filter(isSource))];
}

/** The folders that command lines name. */
export interface Folders {
  readonly root: string;
  readonly build: string;
}

/** A command line with its placeholders filled in; the first source is the program's own file. */
export function commandLine(words: readonly string[], folders: Folders, sources: readonly string[]): string[] {
  const { root, build } = folders;
  const paths = sources.map((source) => `${root}/${source}`);
  const values: Readonly<Record<string, string>> = { root, build, program: paths[0] ?? "" };
  const fill = (word: string) => word.replace(/\{(root|build|program)\}/g, (_all, name: string) => values[name] ?? "");
  return words.flatMap((word) => (word === "{sources}" ? paths : [fill(word)]));
}
