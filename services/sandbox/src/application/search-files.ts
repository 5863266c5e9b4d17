import { headOf, invalidField } from "@drover/kernel";
import { globMatcher } from "../domain/glob.ts";
import type { PatternCompiler, WorkspaceStore } from "./ports.ts";
import { byPath, checkWorkspaceId } from "./workspaces.ts";

/** What to look for. */
export interface SearchRequest {
  readonly workspaceId: string;
  readonly pattern: string;
  readonly glob: string;
  readonly ignoreCase: boolean;
  /** 0 means the default. */
  readonly limit: number;
}

/** A line that matches; counted from 1. */
export interface LineMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const limits = { default: 200, max: 1000 } as const;
const maxPatternCharacters = 1000;
const maxLineCharacters = 500;
/** Lines are matched up to this length: a minified file is no reason to run for minutes. */
const matchedLineCharacters = 20_000;
const binaryProbeBytes = 8192;

/** Searches the text files of a workspace line by line; files with a NUL near their start are passed over. */
export class SearchFiles {
  readonly #store: WorkspaceStore;
  readonly #compile: PatternCompiler;

  constructor(store: WorkspaceStore, compile: PatternCompiler) {
    this.#store = store;
    this.#compile = compile;
  }

  async search(
    tenant: string,
    request: SearchRequest,
    signal: AbortSignal,
  ): Promise<{ readonly matches: readonly LineMatch[]; readonly truncated: boolean }> {
    checkWorkspaceId(request.workspaceId);
    const limit = limitOf(request.limit);
    const matchesPath = globMatcher("glob", request.glob);
    const matchesLine = this.#compiled(request);
    const { files } = await this.#store.read(tenant, request.workspaceId);
    const wanted = [...files.values()].filter(({ path }) => matchesPath(path)).sort(byPath);
    const matches: LineMatch[] = [];
    for await (const { file, content } of this.#store.contents(tenant, wanted)) {
      signal.throwIfAborted();
      if (content.subarray(0, binaryProbeBytes).includes(0)) continue;
      for (const [index, line] of linesOf(content).entries()) {
        if (!matchesLine(line.slice(0, matchedLineCharacters))) continue;
        if (matches.length === limit) return { matches, truncated: true };
        matches.push({ path: file.path, line: index + 1, text: headOf(line, maxLineCharacters) });
      }
    }
    return { matches, truncated: false };
  }

  #compiled(request: SearchRequest): (line: string) => boolean {
    const { pattern, ignoreCase } = request;
    if (pattern === "" || pattern.length > maxPatternCharacters) {
      throw invalidField("pattern", `${pattern.length} characters`, `1 to ${maxPatternCharacters} characters`);
    }
    try {
      return this.#compile(pattern, ignoreCase);
    } catch (error) {
      const found = error instanceof Error ? error.message.slice(0, 200) : "a pattern that is not valid";
      throw invalidField("pattern", found, "RE2 syntax, without back-references and look-around");
    }
  }
}

function limitOf(requested: number): number {
  if (requested < 0) throw invalidField("limit", String(requested), `0 to ${limits.max}`);
  return requested === 0 ? limits.default : Math.min(requested, limits.max);
}

function linesOf(content: Uint8Array): string[] {
  const lines = new TextDecoder().decode(content).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}
