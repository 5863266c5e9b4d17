import {
  DroverError,
  decodePageToken,
  encodePageToken,
  invalidField,
  isId,
  newId,
  notFound,
  pageSize,
} from "@drover/kernel";
import type { Change, FileEntry } from "../domain/change-set.ts";
import { globMatcher } from "../domain/glob.ts";
import { checkPaths } from "../domain/workspace-path.ts";
import type { Digest, Workspace, WorkspaceLimits, WorkspaceStore } from "./ports.ts";
import type { GivenFile } from "./run-request.ts";

/** One change set that a caller asks for. */
export interface PutRequest {
  readonly workspaceId: string;
  readonly files: readonly GivenFile[];
  readonly deletedPaths: readonly string[];
  readonly expectedVersion: number | undefined;
  readonly requestId: string;
}

/** Files to read, each from `offset`, `length` bytes long (0: to its end). */
export interface GetRequest {
  readonly workspaceId: string;
  readonly paths: readonly string[];
  readonly offset: number;
  readonly length: number;
}

/** A file, or a range of it. */
export interface FileContent {
  readonly path: string;
  readonly content: Uint8Array;
  readonly size: number;
}

/** Most bytes of one GetFiles answer. */
const maxAnswerBytes = 3 * 1000 ** 2;
const maxPaths = 1000;
const maxRequestId = 64;

/** Makes, reads and changes workspaces. */
export class Workspaces {
  readonly #store: WorkspaceStore;
  readonly #limits: WorkspaceLimits;
  readonly #digest: Digest;

  constructor(store: WorkspaceStore, limits: WorkspaceLimits, digest: Digest) {
    this.#store = store;
    this.#limits = limits;
    this.#digest = digest;
  }

  async create(tenant: string, requestId: string): Promise<Workspace> {
    checkRequestId(requestId);
    return await this.#store.create(tenant, newId(), requestId, "");
  }

  /** Writes and deletes as one change set; nothing is written where any path is refused. */
  async put(tenant: string, request: PutRequest): Promise<Workspace> {
    checkWorkspaceId(request.workspaceId);
    checkRequestId(request.requestId);
    checkPaths(
      "files",
      request.files.map(({ path }) => path),
    );
    checkPaths("deleted_paths", request.deletedPaths);
    this.#checkSize(request.files);
    const deleted = new Set(request.deletedPaths);
    const both = request.files.find(({ path }) => deleted.has(path));
    if (both !== undefined)
      throw invalidField("deleted_paths", JSON.stringify(both.path), "paths that are not written");
    const { workspace } = await this.#store.read(tenant, request.workspaceId);
    const changes: Change[] = request.deletedPaths.map((path) => ({ kind: "delete", path }));
    for (const file of request.files) changes.push(await this.#kept(tenant, file));
    const commit = await this.#store.commit(tenant, request.workspaceId, changes, {
      since: request.expectedVersion ?? workspace.version,
      exact: request.expectedVersion !== undefined,
      requestId: request.requestId,
      bodyHash: this.#digest(JSON.stringify([changes, request.expectedVersion ?? null])),
      limits: this.#limits,
    });
    const conflicts = commit.outcomes.filter(({ kind }) => kind === "CONFLICT").map(({ path }) => path);
    if (conflicts.length > 0) {
      const message = `Conflict: ${conflicts.slice(0, 20).join(", ")} changed meanwhile, or is a folder.`;
      throw new DroverError("ABORTED", message, { reason: "WORKSPACE_CONFLICT" });
    }
    return commit.workspace;
  }

  /** What can never fit is refused before any of it is stored. */
  #checkSize(files: PutRequest["files"]): void {
    const { maxFiles, maxBytes } = this.#limits;
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
    if (files.length > maxFiles) throw invalidField("files", `${files.length} files`, `at most ${maxFiles}`);
    if (bytes > maxBytes) throw invalidField("files", `${bytes} bytes`, `at most ${maxBytes} bytes`);
  }

  async get(
    tenant: string,
    request: GetRequest,
  ): Promise<{ readonly files: readonly FileContent[]; readonly version: number }> {
    checkWorkspaceId(request.workspaceId);
    if (request.paths.length > maxPaths) throw invalidField("paths", `${request.paths.length}`, `at most ${maxPaths}`);
    if (request.offset < 0) throw invalidField("offset", String(request.offset), "0 or more");
    if (request.length < 0) throw invalidField("length", String(request.length), "0 or more");
    const { workspace, files } = await this.#store.read(tenant, request.workspaceId);
    const wanted = request.paths.map((path) => {
      const entry = files.get(path);
      if (entry === undefined) throw notFound("file", path);
      return entry;
    });
    const bytes = wanted.reduce((sum, { size }) => sum + rangeOf(size, request).length, 0);
    if (bytes > maxAnswerBytes) {
      const message = `${bytes} bytes were asked for at once; allowed are ${maxAnswerBytes}. Ask for fewer files or a range.`;
      throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "ANSWER_TOO_LARGE", retryable: false });
    }
    const found: FileContent[] = [];
    for await (const { file, content } of this.#store.contents(tenant, wanted)) {
      const { start, length } = rangeOf(file.size, request);
      found.push({ path: file.path, content: content.subarray(start, start + length), size: file.size });
    }
    return { files: found, version: workspace.version };
  }

  async list(
    tenant: string,
    request: { workspaceId: string; glob: string; pageSize: number; pageToken: string },
  ): Promise<{ readonly files: readonly FileEntry[]; readonly nextPageToken: string; readonly version: number }> {
    checkWorkspaceId(request.workspaceId);
    const limit = pageSize(request.pageSize);
    const matches = globMatcher("glob", request.glob);
    const scope = `files:${request.workspaceId}:${request.glob}`;
    const after = decodePageToken(scope, request.pageToken)?.[0] ?? "";
    const { workspace, files } = await this.#store.read(tenant, request.workspaceId);
    const rest = [...files.values()].filter(({ path }) => path > after && matches(path)).sort(byPath);
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    const more = rest.length > limit && last !== undefined;
    return { files: page, nextPageToken: more ? encodePageToken(scope, [last.path]) : "", version: workspace.version };
  }

  async delete(tenant: string, id: string): Promise<void> {
    checkWorkspaceId(id);
    await this.#store.delete(tenant, id);
  }

  async #kept(tenant: string, { path, content, executable }: GivenFile): Promise<Change> {
    const sha256 = await this.#store.keep(tenant, content);
    return { kind: "put", file: { path, sha256, size: content.length, executable } };
  }
}

/** INVALID_ARGUMENT for what cannot be the id of a workspace. */
export function checkWorkspaceId(id: string): void {
  if (!isId(id)) throw invalidField("workspace_id", JSON.stringify(id.slice(0, 40)), "the id of a workspace");
}

/** Order by code unit, the same as a page token compares. */
export function byPath(a: FileEntry, b: FileEntry): number {
  return a.path < b.path ? -1 : 1;
}

function checkRequestId(id: string): void {
  if (id.length > maxRequestId) {
    throw invalidField("request_id", `${id.length} characters`, `at most ${maxRequestId} characters`);
  }
}

function rangeOf(size: number, { offset, length }: GetRequest): { readonly start: number; readonly length: number } {
  const start = Math.min(offset, size);
  return { start, length: length === 0 ? size - start : Math.min(length, size - start) };
}
