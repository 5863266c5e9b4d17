import type { Socket } from "node:net";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import type {
  CollectedChange,
  CollectLimits,
  Container,
  ContainerFile,
  ProgramReport,
  ProgramRequest,
  SessionFace,
} from "../../application/ports.ts";
import { inTurn } from "../in-turn.ts";
import { InitChannel } from "../init/init-channel.ts";
import type { AttachedStream } from "./attached-stream.ts";
import { Demultiplexer, type OutputPiece } from "./demultiplexer.ts";
import { kernelLogsOutOfMemory } from "./kernel-log.ts";
import { killContainer, removeContainer } from "./remove-container.ts";

const exitWaitMs = 10_000;
const exitPollMs = 100;
const sigterm = 15;
const diagnosticsBytes = 2000;

/** How often, and how long apart, an ended container is looked at for a mark of the engine that may be late. */
const outOfMemoryLooks = 20;
const outOfMemoryLookMs = 50;

/** A container of the Docker engine, spoken to through drover-init on its attached streams. */
export class DockerContainer implements Container {
  readonly id: string;
  readonly root = "/workspace";
  readonly #docker: Docker;
  readonly #socket: Socket;
  readonly #exited: Promise<unknown>;
  readonly #channel: InitChannel;
  readonly #demultiplexer = new Demultiplexer();
  #diagnostics = "";

  /** `exited` must have been armed before the container was started. */
  constructor(docker: Docker, id: string, stream: AttachedStream, exited: Promise<unknown>) {
    this.id = id;
    this.#docker = docker;
    this.#socket = stream.socket;
    this.#exited = exited;
    this.#channel = new InitChannel(stream.socket);
    stream.read((chunk) => inTurn(this.#demultiplexer.cut(chunk), (piece) => this.#receive(piece)));
    void this.#end();
  }

  get alive(): boolean {
    return !this.#channel.lost;
  }

  get session(): SessionFace {
    return this.#channel.session;
  }

  /** Resolves when process 1 takes files. */
  async ready(): Promise<void> {
    await this.#channel.ready();
  }

  async putFile(file: ContainerFile): Promise<void> {
    await this.#channel.putFile(file);
  }

  async run(program: ProgramRequest): Promise<ProgramReport> {
    return await this.#channel.run(program);
  }

  terminate(): void {
    this.#channel.signal(sigterm);
  }

  async kill(): Promise<void> {
    try {
      await killContainer(this.#docker.getContainer(this.id));
      await this.#exit();
    } finally {
      // Also where the engine refuses: the run is over, and the container's removal kills what is left.
      this.#channel.lose("The container was killed.");
    }
  }

  async collect(limits: CollectLimits, onChange: (change: CollectedChange) => Promise<void>): Promise<void> {
    await this.#channel.collect(limits, onChange);
  }

  async sawOutOfMemory(): Promise<boolean> {
    if (!this.#socket.destroyed && !this.#socket.readableEnded) return await this.#isMarkedOutOfMemory();
    // The engine notes the kill about when it notes the exit, and hears of the two from different sources; where the
    // container's cgroup goes first, it never does. The kernel's log is asked as well, where it can be read.
    await this.#exit();
    if ((await this.#isMarkedOutOfMemory()) || (await kernelLogsOutOfMemory(this.id))) return true;
    for (let look = 1; look < outOfMemoryLooks; look++) {
      await new Promise((resolve) => setTimeout(resolve, outOfMemoryLookMs));
      if (await this.#isMarkedOutOfMemory()) return true;
    }
    return false;
  }

  async #isMarkedOutOfMemory(): Promise<boolean> {
    return (await this.#docker.getContainer(this.id).inspect()).State.OOMKilled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await removeContainer(this.#docker, this.id);
    } finally {
      this.#socket.destroy();
    }
  }

  /**
   * Resolves when the container has exited or nothing more can be learned. The client never settles a
   * wait whose connection broke after the engine's first bytes, so the state is looked at as well.
   */
  async #exit(): Promise<void> {
    const over = this.#exited.then(() => true);
    for (let waited = 0; waited < exitWaitMs; waited += exitPollMs) {
      const timer = new AbortController();
      const pause = sleep(exitPollMs, false, { signal: timer.signal }).catch(() => false);
      const exited = await Promise.race([over, pause]);
      timer.abort();
      if (exited || !(await this.#isRunning())) return;
    }
  }

  async #isRunning(): Promise<boolean> {
    try {
      return (await this.#docker.getContainer(this.id).inspect()).State.Running;
    } catch {
      return false;
    }
  }

  #receive({ stream, data }: OutputPiece): Promise<void> | undefined {
    if (stream === "stdout") return this.#channel.receive(data);
    this.#diagnostics = (this.#diagnostics + data.toString("utf8")).slice(-diagnosticsBytes);
    return undefined;
  }

  /** Resolves when the streams have ended and everybody who waits for the container knows. */
  async #end(): Promise<void> {
    try {
      await finished(this.#socket, { writable: false });
      this.#demultiplexer.end();
      this.#channel.lose(`The container ended while it was in use. ${this.#diagnostics}`.trim());
    } catch (error) {
      this.#channel.lose("The connection to the container was lost.", "CONTAINER_LOST", error);
      this.#socket.destroy();
    }
  }
}
