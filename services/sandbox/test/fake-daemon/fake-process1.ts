import type { Socket } from "node:net";
import {
  encodeControl,
  encodeFrame,
  type Frame,
  FrameParser,
  frameTypes,
} from "../../src/infrastructure/init/frame.ts";
import type { Script } from "./fake-daemon.ts";

/** What a scripted program does; it has exited with 0 where it does not say otherwise. */
export type ProgramScript = (program: FakeProgram) => Promise<void> | void;

/** The hands of a scripted program, and of those who break things around it. */
interface FakeProgram {
  stdout(bytes: Uint8Array): void;
  stderr(bytes: Uint8Array): void;
  exit(report: Record<string, unknown>): void;
  /** Bytes of the attached stream as they are, past all framing. */
  raw(bytes: Uint8Array): void;
  /** The container's own end. */
  die(): void;
  /** The stream ends (half-close), the container goes on. */
  endStream(): void;
  /** The connection breaks. */
  dropStream(): void;
  /** Resolves at the signal of that number. */
  signalled(number: number): Promise<void>;
}

/** Wraps a payload as the daemon does: stream type, three zeros, length, payload. */
export function daemonFrame(type: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

/** The other end of an attached stream: a process 1 whose programs are scripts. */
export class FakeProcess1 {
  readonly #socket: Socket;
  readonly #script: Script;
  readonly #onDeath: () => void;
  readonly #parser = new FrameParser();
  readonly #signals = new Map<number, PromiseWithResolvers<void>>();
  #over = false;

  constructor(socket: Socket, script: Script, onDeath: () => void) {
    this.#socket = socket;
    this.#script = script;
    this.#onDeath = onDeath;
    socket.on("error", () => undefined).on("data", (chunk) => this.#take(chunk));
    // As the real one: when its input ends, it is the end of the container.
    socket.on("end", onDeath).on("close", onDeath);
  }

  /** The container runs. */
  ready(): void {
    this.#send(encodeControl(frameTypes.ready, { protocol: 1 }));
  }

  /** The container has exited: its streams end. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket.end();
  }

  #take(chunk: Buffer): void {
    for (const frame of this.#parser.push(chunk)) this.#handle(frame);
  }

  #handle({ type, payload }: Frame): void {
    switch (type) {
      case frameTypes.run:
        void this.#run(JSON.parse(payload.toString()).phase);
        break;
      case frameTypes.stdin:
        this.#send(encodeFrame(frameTypes.stdinAck, new Uint8Array()));
        break;
      case frameTypes.kill:
        this.#signal(JSON.parse(payload.toString()).signal).resolve();
        break;
      case frameTypes.collect:
        this.#send(encodeControl(frameTypes.changesEnd, { files: 0, bytes: 0, skipped: 0 }));
        break;
    }
  }

  async #run(phase: unknown): Promise<void> {
    this.#send(encodeControl(frameTypes.started, { phase }));
    let exited = false;
    const exit = (report: Record<string, unknown>) => {
      exited = true;
      this.#send(encodeControl(frameTypes.exit, { phase, oom_kills: 0, wall_us: 1000, ...report }));
    };
    const program: FakeProgram = {
      stdout: (bytes) => this.#send(encodeFrame(frameTypes.stdout, bytes)),
      stderr: (bytes) => this.#send(encodeFrame(frameTypes.stderr, bytes)),
      exit,
      raw: (bytes) => this.#write(Buffer.from(bytes)),
      die: () => this.#onDeath(),
      endStream: () => void this.#socket.end(),
      dropStream: () => void this.#socket.destroy(),
      signalled: (number) => this.#signal(number).promise,
    };
    await this.#script.program?.(program);
    if (!exited && this.#script.program === undefined) exit({ code: 0 });
  }

  #signal(number: number): PromiseWithResolvers<void> {
    const known = this.#signals.get(number) ?? Promise.withResolvers<void>();
    this.#signals.set(number, known);
    return known;
  }

  #send(frame: Buffer): void {
    this.#write(daemonFrame(1, frame));
  }

  #write(bytes: Buffer): void {
    if (this.#over || this.#socket.destroyed) return;
    for (const piece of this.#script.cut?.(bytes) ?? [bytes]) this.#socket.write(piece);
  }
}
