import { DroverError } from "@drover/kernel";
import type { CommandRequest, ProgramReport, RunningCommand } from "../../application/ports.ts";
import { encodeControl, encodeFrame, type Frame, frameTypes } from "./frame.ts";
import { phaseId, programReport } from "./reports.ts";

const window = 8;
const chunkBytes = 16 * 1024;
const maxQueuedBytes = 1024 ** 2;
const drainMs = 200;
const idBytes = 4;

/** The commands that run beside each other in one container, each under an id of its own. */
export class InitSession {
  readonly #send: (bytes: Buffer) => void;
  readonly #lost: Promise<never>;
  readonly #commands = new Map<number, Command>();
  #lastId = 0;

  constructor(send: (bytes: Buffer) => void, lost: Promise<never>) {
    this.#send = send;
    this.#lost = lost;
  }

  start(request: CommandRequest): RunningCommand {
    const id = ++this.#lastId;
    const command = new Command(id, request, this.#send, this.#lost);
    this.#commands.set(id, command);
    this.#send(
      encodeControl(frameTypes.run, {
        id,
        phase: "command",
        argv: request.argv,
        env: Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
        cwd: "/workspace",
        drain_ms: drainMs,
        cpu_ms: request.cpuTimeMs,
      }),
    );
    return command;
  }

  /** True where the frame was of one of these commands. */
  take({ type, payload }: Frame): boolean {
    if (this.#commands.size === 0) return false;
    switch (type) {
      case frameTypes.taggedStdout:
      case frameTypes.taggedStderr: {
        const stream = type === frameTypes.taggedStdout ? "stdout" : "stderr";
        this.#commands.get(payload.readUInt32BE(0))?.request.onOutput(stream, payload.subarray(idBytes));
        return true;
      }
      case frameTypes.inputAck:
        this.#commands.get(payload.readUInt32BE(0))?.acknowledged();
        return true;
      case frameTypes.started:
      case frameTypes.exit:
        return this.#turn(type, payload);
      default:
        return false;
    }
  }

  #turn(type: number, payload: Buffer): boolean {
    const id = phaseId(payload);
    const command = this.#commands.get(id);
    if (command === undefined) return false;
    if (type === frameTypes.started) {
      command.request.onStarted();
    } else {
      this.#commands.delete(id);
      command.finish(programReport(payload));
    }
    return true;
  }
}

class Command implements RunningCommand {
  readonly request: CommandRequest;
  readonly ended: Promise<ProgramReport>;
  readonly #id: number;
  readonly #send: (bytes: Buffer) => void;
  readonly #done = Promise.withResolvers<ProgramReport>();
  readonly #queue: (Uint8Array | undefined)[] = [];
  #queuedBytes = 0;
  #underway = 0;

  constructor(id: number, request: CommandRequest, send: (bytes: Buffer) => void, lost: Promise<never>) {
    this.#id = id;
    this.request = request;
    this.#send = send;
    this.ended = Promise.race([this.#done.promise, lost]);
    this.ended.catch(() => undefined);
  }

  finish(report: ProgramReport): void {
    this.#done.resolve(report);
  }

  acknowledged(): void {
    this.#underway--;
    this.#fill();
  }

  write(bytes: Uint8Array): void {
    if (this.#queuedBytes + bytes.length > maxQueuedBytes) {
      const message = "The command does not read its input; try again later.";
      throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "INPUT_FULL", retryAfterMs: 1000 });
    }
    for (let at = 0; at < bytes.length; at += chunkBytes) this.#queue.push(bytes.subarray(at, at + chunkBytes));
    this.#queuedBytes += bytes.length;
    this.#fill();
  }

  closeInput(): void {
    this.#queue.push(undefined);
    this.#fill();
  }

  signal(number: number): void {
    this.#send(encodeControl(frameTypes.kill, { id: this.#id, signal: number }));
  }

  #fill(): void {
    while (this.#underway < window && this.#queue.length > 0) {
      const piece = this.#queue.shift();
      const tag = Buffer.alloc(idBytes);
      tag.writeUInt32BE(this.#id, 0);
      if (piece === undefined) {
        this.#send(encodeFrame(frameTypes.inputClose, tag));
      } else {
        this.#send(encodeFrame(frameTypes.input, Buffer.concat([tag, piece])));
        this.#queuedBytes -= piece.length;
        this.#underway++;
      }
    }
  }
}
