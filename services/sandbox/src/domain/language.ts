import { invalidField } from "@drover/kernel";
import { defaultLimitPolicy, type Limits } from "./limits.ts";
import { foldersOf } from "./workspace-path.ts";

/**
 * A language that programs can be written in; everything about it is data. In the words of its command
 * lines `{program}` is the program's file, `{root}` the working folder, `{build}` a folder for what a
 * compiler makes, and a word `{sources}` stands for all files of the program; the first word of each is
 * a path. `{memory}`, `{heap}` and `{cpus}`, there and in the environment, are {@link Sizes}.
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
const imageVersion = "6";

/** Name of a language's image: `drover/sandbox-python:6` for the prefix `drover/sandbox-`, or the one it names itself. */
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

/** What a runtime would otherwise take from the host, which /proc and nproc show: by the limits of the run. */
export interface Sizes {
  /** The memory limit in bytes. */
  readonly memory: string;
  /** Five eighths of it in MiB: room for a heap beside what a runtime takes besides. */
  readonly heap: string;
  /** CPUs, rounded up. */
  readonly cpus: string;
}

/** The sizes for these limits; a limit that is not in force counts as its default. */
export function sizesOf({ memoryBytes, cpuMillis }: Pick<Limits, "memoryBytes" | "cpuMillis">): Sizes {
  const memory = memoryBytes || defaultLimitPolicy.defaults.memoryBytes;
  return {
    memory: String(memory),
    heap: String(Math.floor((memory * 5) / 8 / 1024 ** 2)),
    cpus: String(Math.ceil((cpuMillis || defaultLimitPolicy.defaults.cpuMillis) / 1000)),
  };
}

/** The variables that the language's programs find, with their placeholders filled in. */
export function environmentOf({ environment }: Language, sizes: Sizes): Record<string, string> {
  const fill = (text: string) => text.replace(/\{(memory|heap|cpus)\}/g, (_all, name: keyof Sizes) => sizes[name]);
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, fill(value)]));
}

/** A command line with its placeholders filled in; the first source is the program's own file. */
export function commandLine(words: readonly string[], places: Folders & Sizes, sources: readonly string[]): string[] {
  const paths = sources.map((source) => `${places.root}/${source}`);
  const values: Readonly<Record<string, string>> = { ...places, program: paths[0] ?? "" };
  const placeholder = /\{(root|build|program|memory|heap|cpus)\}/g;
  const fill = (word: string) => word.replace(placeholder, (_all, name: string) => values[name] ?? "");
  return words.flatMap((word) => (word === "{sources}" ? paths : [fill(word)]));
}
