import type { Duplex } from "node:stream";
import { DroverError } from "@drover/kernel";
import type {
  CollectedChange,
  CollectLimits,
  ContainerFile,
  ProgramReport,
  ProgramRequest,
  SessionFace,
} from "../../application/ports.ts";
import { inTurn } from "../in-turn.ts";
import { ChangeReader } from "./change-reader.ts";
import { encodeControl, encodeFrame, type Frame, FrameParser, frameTypes } from "./frame.ts";
import { InitSession } from "./init-session.ts";
import { faultReport, programReport } from "./reports.ts";
import { StdinFeed } from "./stdin-feed.ts";

const chunkBytes = 32 * 1024;
const drainMs = 200;
const collectWaitMs = 60_000;

/** Who gets the frames at the moment; it settles by itself and may make the next frame wait. */
type Receiver = (frame: Frame) => Promise<void> | void;

/**
 * The host's end of drover-init's protocol over a container's attached streams. One conversation at
 * a time; when the streams end or process 1 breaks the protocol, the pending one rejects with
 * UNAVAILABLE (reason CONTAINER_LOST), and so does every later one.
 */
export class InitChannel {
  readonly #socket: Duplex;
  readonly #parser = new FrameParser();
  readonly #lost = Promise.withResolvers<never>();
  readonly #ready = Promise.withResolvers<void>();
  /** Commands beside the one conversation. */
  readonly #commands = new InitSession((bytes) => void this.#send(bytes), this.#lost.promise);
  #receiver: Receiver = () => undefined;
  #isLost = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
    this.#lost.promise.catch(() => undefined);
  }

  /** True when nothing more comes from process 1. */
  get lost(): boolean {
    return this.#isLost;
  }

  /** Resolves at process 1's first frame, which may have come before anybody asked. */
  async ready(): Promise<void> {
    await Promise.race([this.#ready.promise, this.#lost.promise]);
  }

  /**
   * Bytes of the container's standard output, in order. They are used up when it returns; where that is a promise,
   * when that has settled.
   */
  receive(chunk: Buffer): Promise<void> | undefined {
    return inTurn(this.#parser.push(chunk).values(), (frame) => this.#handle(frame));
  }

  /** Ends every conversation; the first reason counts. */
  lose(message: string, reason = "CONTAINER_LOST", cause?: unknown): void {
    this.#isLost = true;
    this.#lost.reject(new DroverError("UNAVAILABLE", message, { reason, cause }));
  }

  async putFile(file: ContainerFile): Promise<void> {
    const { path, content, executable, ephemeral } = file;
    await this.#write(encodeControl(frameTypes.file, { path, size: content.length, exec: executable, ephemeral }));
    for (let at = 0; at < content.length; at += chunkBytes) {
      await this.#write(encodeFrame(frameTypes.fileData, content.subarray(at, at + chunkBytes)));
    }
  }

  /** What a session does with its container. */
  get session(): SessionFace {
    return {
      start: (command) => this.#commands.start(command),
      pause: (paused) => void this.#send(encodeFrame(paused ? frameTypes.pause : frameTypes.resume, new Uint8Array())),
      deleteFile: (path) => this.#write(encodeControl(frameTypes.delete, { path })),
    };
  }

  async run(program: ProgramRequest): Promise<ProgramReport> {
    const feed = new StdinFeed(program.stdin, chunkBytes, (bytes) =>
      this.#send(
        bytes === undefined
          ? encodeFrame(frameTypes.stdinClose, new Uint8Array())
          : encodeFrame(frameTypes.stdin, bytes),
      ),
    );
    const report = this.#conversation<ProgramReport>((done) => (frame) => {
      switch (frame.type) {
        case frameTypes.started:
          program.onStarted();
          return feed.start();
        case frameTypes.stdinAck:
          return feed.acknowledged();
        case frameTypes.stdout:
          return program.onOutput("stdout", frame.payload);
        case frameTypes.stderr:
          return program.onOutput("stderr", frame.payload);
        case frameTypes.exit:
          return done.resolve(programReport(frame.payload));
      }
    });
    this.#send(
      encodeControl(frameTypes.run, {
        phase: program.phase ?? "run",
        argv: program.argv,
        env: Object.entries(program.environment).map(([name, value]) => `${name}=${value}`),
        cwd: "/workspace",
        drain_ms: drainMs,
        cpu_ms: program.cpuTimeMs,
      }),
    );
    return await report;
  }

  signal(number: number): void {
    this.#send(encodeControl(frameTypes.kill, { signal: number }));
  }

  /** Ends every conversation where it takes longer than a minute. */
  async collect(limits: CollectLimits, onChange: (change: CollectedChange) => Promise<void>): Promise<void> {
    const timer = setTimeout(() => this.lose("Collecting the changes took too long."), collectWaitMs);
    const end = this.#conversation<void>((done) => {
      const reader = new ChangeReader(limits, onChange);
      return async (frame) => {
        try {
          if (await reader.push(frame)) done.resolve();
        } catch (error) {
          done.reject(error);
        }
      };
    });
    this.#send(encodeControl(frameTypes.collect, { max_files: limits.maxFiles, max_bytes: limits.maxBytes }));
    await end.finally(() => clearTimeout(timer));
  }

  #handle(frame: Frame): Promise<void> | void {
    if (frame.type === frameTypes.fault) {
      const { reason, message } = faultReport(frame.payload);
      this.lose(`Process 1 refused a request: ${reason}.`, reason, new Error(message));
    } else if (frame.type === frameTypes.ready) {
      this.#ready.resolve();
    } else if (!this.#commands.take(frame)) {
      return this.#receiver(frame);
    }
  }

  async #conversation<T>(begin: (done: PromiseWithResolvers<T>) => Receiver): Promise<T> {
    const done = Promise.withResolvers<T>();
    this.#receiver = begin(done);
    try {
      return await Promise.race([done.promise, this.#lost.promise]);
    } finally {
      this.#receiver = () => undefined;
    }
  }

  #send(bytes: Buffer): boolean {
    return this.#isLost || this.#socket.destroyed || this.#socket.write(bytes);
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#isLost) return await this.#lost.promise;
    if (this.#send(bytes)) return;
    const drained = Promise.withResolvers<void>();
    this.#socket.once("drain", drained.resolve);
    await Promise.race([drained.promise, this.#lost.promise]).finally(() => this.#socket.off("drain", drained.resolve));
  }
}
