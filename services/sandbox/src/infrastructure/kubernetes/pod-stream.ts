import { Duplex } from "node:stream";
import type { WebSocket } from "ws";

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;
const diagnosticsBytes = 2000;
/** So many questions without an answer are a connection that is dead without saying so. */
const missedMost = 3;

/**
 * The attached streams of a Pod as one duplex: what is written is the container's input, what is read its standard
 * output. Every message of the API server begins with the number of its channel. A reader that stops stops the socket;
 * a writer waits for what it sent before. Ending it ends the input: told on the close channel where version 5 was agreed,
 * else by ending the connection.
 */
export class PodStream extends Duplex {
  readonly #socket: WebSocket;
  readonly #heartbeat: NodeJS.Timeout;
  #missed = 0;
  /** The end of what came on standard error, and of what the server had to say. */
  diagnostics = "";

  constructor(socket: WebSocket, heartbeatMs: number) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on("message", (data: Buffer, isBinary: boolean) => this.#take(data, isBinary));
    socket.on("pong", () => this.#heard());
    socket.on("close", () => this.#ended());
    socket.on("error", (error) => this.destroy(error));
    this.on("error", () => undefined);
    this.#heartbeat = setInterval(() => this.#ask(), heartbeatMs);
    this.#heartbeat.unref();
  }

  override _read(): void {
    if (!this.#socket.isPaused) return;
    this.#heard();
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const message = Buffer.allocUnsafe(chunk.length + 1);
    message.writeUInt8(channels.stdin, 0);
    message.set(chunk, 1);
    this.#socket.send(message, (error) => callback(error ?? null));
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#socket.protocol.startsWith("v5.")) {
      this.#socket.send(Buffer.from([channels.close, channels.stdin]), () => callback());
    } else {
      this.#socket.close();
      callback();
    }
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#heartbeat);
    this.#socket.terminate();
    callback(error);
  }

  #take(data: Buffer, isBinary: boolean): void {
    this.#heard();
    const payload = data.subarray(1);
    const channel = isBinary ? data[0] : undefined;
    switch (channel) {
      case channels.stdout:
        if (payload.length > 0 && !this.push(payload)) this.#socket.pause();
        return;
      case channels.stderr:
      case channels.error:
        this.diagnostics = (this.diagnostics + payload.toString("utf8")).slice(-diagnosticsBytes);
        return;
      case channels.close:
        return;
      default:
        this.destroy(new Error("The API server sent a message of an unknown channel."));
    }
  }

  #ended(): void {
    clearInterval(this.#heartbeat);
    if (!this.destroyed) this.push(null);
  }

  #heard(): void {
    this.#missed = 0;
  }

  /** A paused socket hears no answer, so it is not asked for one. */
  #ask(): void {
    if (this.#socket.readyState !== this.#socket.OPEN || this.#socket.isPaused) return;
    if (this.#missed++ >= missedMost)
      this.destroy(new Error("The API server answers no more on the attached streams."));
    else this.#socket.ping();
  }
}
