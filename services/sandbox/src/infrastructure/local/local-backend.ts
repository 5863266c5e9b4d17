import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@drover/kernel";
import type {
  Container,
  ContainerRequest,
  EngineHealth,
  ExecBackend,
  FoundContainer,
} from "../../application/ports.ts";
import type { Capability } from "../../domain/capability.ts";
import { LocalContainer } from "./local-container.ts";
import { killAllIn } from "./local-processes.ts";

/** Where local runs live and whose they are. */
export interface LocalOptions {
  /** Folder that holds one folder a run; made where it is missing. */
  readonly folder: string;
  readonly owner: string;
}

const idPattern = /^[0-9a-f-]{36}$/;

/**
 * Runs programs as plain processes of this host and this user, in a folder of their own and with nothing but the
 * named environment. UNSAFE: they can read, change and reach what the service can. Time and output are limited by
 * the service, memory and processes are not.
 */
export class LocalBackend implements ExecBackend {
  readonly name = "local";
  readonly runtime = "local (UNSAFE)";
  readonly capabilities = new Set<Capability>();
  readonly #options: LocalOptions;
  readonly #live = new Map<string, LocalContainer>();

  constructor(options: LocalOptions) {
    this.#options = options;
  }

  async check(image: string, _signal: AbortSignal): Promise<string> {
    return image;
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<Container> {
    signal.throwIfAborted();
    const id = newId();
    const home = join(this.#options.folder, id);
    await mkdir(join(home, "files"), { recursive: true, mode: 0o700 });
    const { owner } = this.#options;
    const label = { runId: request.runId, owner, expiresAtMs: Date.now() + request.lifetimeMs };
    await writeFile(join(home, "label.json"), JSON.stringify(label));
    const container = new LocalContainer(id, join(home, "files"));
    this.#live.set(id, container);
    if (!signal.aborted) return container;
    await container[Symbol.asyncDispose]();
    throw signal.reason;
  }

  async health(_signal: AbortSignal): Promise<EngineHealth> {
    return { ready: true, problem: "", advice: "", version: "" };
  }

  async found(_signal: AbortSignal): Promise<readonly FoundContainer[]> {
    const ids = await readdir(this.#options.folder).catch((): string[] => []);
    const found = await Promise.all(ids.filter((id) => idPattern.test(id)).map((id) => this.#found(id)));
    return found.flat();
  }

  async remove(id: string): Promise<void> {
    if (!idPattern.test(id)) return;
    const live = this.#live.get(id);
    this.#live.delete(id);
    if (live !== undefined) return await live[Symbol.asyncDispose]();
    const home = join(this.#options.folder, id);
    await killAllIn(join(home, "files"));
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Without a readable label, e.g. half-way through its making, a folder is nobody's yet. */
  async #found(id: string): Promise<FoundContainer[]> {
    const text = await readFile(join(this.#options.folder, id, "label.json"), "utf8").catch(() => "");
    if (text === "") return [];
    const { runId, owner, expiresAtMs } = JSON.parse(text) as Record<string, unknown>;
    return [{ id, runId: String(runId), owner: String(owner), expiresAt: new Date(Number(expiresAtMs)) }];
  }
}
