import { connect, type Socket } from "node:net";

/** Where the engine listens. */
export type EngineAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** Takes bytes of the stream. They lie in a buffer that is used again; while a promise is open nothing is read into it. */
type Take = (chunk: Buffer) => Promise<void> | undefined;

const bufferBytes = 64 * 1024;
const maxHeadBytes = 16 * 1024;
const endOfHead = "\r\n\r\n";

/**
 * A container's attached streams over a connection of their own, read through one buffer, so that a gigabyte of output
 * costs no more memory than a line. Whoever does not take the bytes stops the connection, and the program with it.
 */
export class AttachedStream {
  /** For writing and for its end; bytes that come are not events of it. */
  readonly socket: Socket;
  readonly #opened = Promise.withResolvers<void>();
  readonly #reading = Promise.withResolvers<void>();
  #take: Take = (chunk) => this.#readHead(chunk);
  #head = Buffer.alloc(0);

  private constructor(address: EngineAddress) {
    const buffer = Buffer.allocUnsafeSlow(bufferBytes);
    const callback = (size: number) => this.#receive(buffer.subarray(0, size));
    this.socket = connect({ ...address, onread: { buffer, callback } });
    this.socket.on("error", this.#opened.reject);
    this.socket.on("close", () =>
      this.#opened.reject(new Error("The engine closed the connection without an answer.")),
    );
  }

  /**
   * Attaches to a container that need not run yet. Rejects with the connection's error, or with one that has the
   * engine's `statusCode`; an abort closes the connection and rejects with the signal's reason.
   */
  static async open(address: EngineAddress, id: string, signal: AbortSignal): Promise<AttachedStream> {
    signal.throwIfAborted();
    const stream = new AttachedStream(address);
    const { socket } = stream;
    const onAbort = () => socket.destroy(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const all = ["stream", "stdin", "stdout", "stderr"].map((name) => `${name}=true`).join("&");
    const lines = [`POST /containers/${id}/attach?${all} HTTP/1.1`, "Host: docker", "Connection: Upgrade"];
    socket.write([...lines, "Upgrade: tcp", "Content-Length: 0", "", ""].join("\r\n"));
    try {
      await stream.#opened.promise;
      return stream;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Begins to read. What `take` throws, or rejects with, destroys the socket. */
  read(take: Take): void {
    this.#take = take;
    this.#reading.resolve();
  }

  /** False stops the connection until what was given away is taken. */
  #receive(chunk: Buffer): boolean {
    try {
      const waiting = this.#take(chunk);
      if (waiting === undefined) return true;
      waiting.then(
        () => this.socket.resume(),
        (error) => this.socket.destroy(error),
      );
    } catch (error) {
      this.socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
    return false;
  }

  #readHead(chunk: Buffer): Promise<void> | undefined {
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf(endOfHead);
    if (end < 0 && this.#head.length < maxHeadBytes) return undefined;
    const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(this.#head.toString("latin1", 0, 16))?.[1]);
    const rest = this.#head.subarray(end + endOfHead.length);
    if (status !== 101 && status !== 200) throw refusal(status, rest);
    this.#opened.resolve();
    return this.#reading.promise.then(() => (rest.length === 0 ? undefined : this.#take(rest)));
  }
}

function refusal(status: number, body: Buffer): Error {
  const error = new Error(`The engine refused to attach (${status}): ${body.toString("utf8", 0, 1000)}`);
  return Number.isNaN(status) ? error : Object.assign(error, { statusCode: status });
}
