import { type ChildProcess, spawn } from "node:child_process";
import { open, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DroverError } from "@drover/kernel";
import type {
  CollectedChange,
  CollectLimits,
  Container,
  ContainerFile,
  ProgramReport,
  ProgramRequest,
} from "../../application/ports.ts";
import type { OutputStream } from "../../domain/execution.ts";
import { LocalFiles } from "./local-files.ts";
import { killAllIn, signalGroup } from "./local-processes.ts";
import { PathDisplay } from "./path-display.ts";
import { signalNumber } from "./signal-number.ts";

const drainMs = 200;
const shownRoot = "/workspace";

/** A folder of this host in which programs run as plain processes. It keeps nothing from anybody. */
export class LocalContainer implements Container {
  readonly id: string;
  readonly root: string;
  readonly build: string;
  readonly #files: LocalFiles;
  readonly #lost = Promise.withResolvers<never>();
  #child: ChildProcess | undefined;
  #alive = true;

  constructor(id: string, root: string) {
    this.id = id;
    this.root = root;
    this.build = dirname(root);
    this.#files = new LocalFiles(root);
    this.#lost.promise.catch(() => undefined);
  }

  get alive(): boolean {
    return this.#alive;
  }

  async putFile(file: ContainerFile): Promise<void> {
    if (!this.#alive) return await this.#lost.promise;
    await this.#files.put(file);
  }

  async run(program: ProgramRequest): Promise<ProgramReport> {
    if (!this.#alive) return await this.#lost.promise;
    return await Promise.race([this.#run(program), this.#lost.promise]);
  }

  terminate(): void {
    signalGroup(this.#child?.pid, "SIGTERM");
  }

  async kill(): Promise<void> {
    this.#alive = false;
    this.#lost.reject(new DroverError("UNAVAILABLE", "The program was killed.", { reason: "CONTAINER_LOST" }));
    signalGroup(this.#child?.pid, "SIGKILL");
    await killAllIn(this.root);
  }

  async collect(limits: CollectLimits, onChange: (change: CollectedChange) => Promise<void>): Promise<void> {
    if (!this.#alive) return await this.#lost.promise;
    await Promise.race([this.#files.collect(limits, onChange), this.#lost.promise]);
  }

  async sawOutOfMemory(): Promise<boolean> {
    return false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(dirname(this.root), { recursive: true, force: true, maxRetries: 5 });
  }

  async #run(program: ProgramRequest): Promise<ProgramReport> {
    const [file = "", ...args] = program.argv;
    const began = performance.now();
    // A shell whose input is a socket, which is what a pipe of this process would be, takes itself for a remote one
    // and reads its user's start-up file.
    const inputFile = join(dirname(this.root), "input");
    await writeFile(inputFile, program.stdin);
    await using input = await open(inputFile);
    const child = spawn(file, args, {
      cwd: this.root,
      env: { ...program.environment },
      detached: true,
      stdio: [input.fd, "pipe", "pipe"],
    });
    this.#child = child;
    const flush = (["stdout", "stderr"] as const).map((stream) => this.#show(child, stream, program));
    const ended = Promise.withResolvers<Pick<ProgramReport, "exit" | "launchError">>();
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    child.once("spawn", () => program.onStarted());
    child.once("error", (error) => ended.resolve({ launchError: error.message.replaceAll(this.root, shownRoot) }));
    child.once("exit", (code, signal) =>
      ended.resolve({ exit: signal === null ? { code: code ?? 0 } : { signal: signalNumber(signal) } }),
    );
    const end = await ended.promise;
    const wallMs = performance.now() - began;
    if (end.exit !== undefined) await this.#sweep(child, closed);
    for (const last of flush) last();
    return { ...end, oomKills: 0, wallMs, cpuMs: 0, peakMemoryBytes: 0 };
  }

  /** Ends what the program left, so that nothing writes any more when its changes are taken. */
  async #sweep(child: ChildProcess, closed: Promise<void>): Promise<void> {
    await Promise.race([closed, sleep(drainMs)]);
    signalGroup(child.pid, "SIGKILL");
    await killAllIn(this.root);
    await Promise.race([closed, sleep(drainMs)]);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  #show(child: ChildProcess, stream: OutputStream, program: ProgramRequest): () => void {
    const display = new PathDisplay(this.root, shownRoot);
    const pass = (bytes: Buffer) => {
      if (bytes.length > 0 && this.#alive) program.onOutput(stream, bytes);
    };
    child[stream]?.on("data", (chunk: Buffer) => pass(display.push(chunk))).on("error", () => undefined);
    return () => pass(display.end());
  }
}
