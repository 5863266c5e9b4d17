import { type ClientHttp2Session, connect } from "node:http2";

/** Times in milliseconds. A connection is tried again quickly: a service that restarts is back within seconds. */
const connectTimeoutMs = 3000;
const retryAfterMs = { first: 50, most: 1000 } as const;
/** A peer that does not answer a ping within the second time is taken for dead. */
const pingEveryMs = 20_000;
const pingTimeoutMs = 10_000;

/** Bytes of one stream that may be on their way unread; several small messages, no more. */
const streamWindowBytes = 256 * 1024;
/** All streams to a service share the connection, so Node's default of 10 MB would refuse new ones under load. */
const sessionMemoryMb = 1024;

/** The connection to one address: opened when it is needed, and again when it was lost. */
export class UpstreamEndpoint {
  readonly #address: string;
  readonly #onFailure: (address: string, error: unknown) => void;
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  #failures = 0;
  #retryAtMs = 0;
  #failure: unknown;
  #closed = false;

  /** `onFailure` hears of each attempt to connect that failed, ever less often while a peer is away. */
  constructor(address: string, onFailure: (address: string, error: unknown) => void) {
    this.#address = address;
    this.#onFailure = onFailure;
  }

  /** The connection where it is open and takes new streams: one that was told to go away does not. */
  current(): ClientHttp2Session | undefined {
    const session = this.#session;
    return session === undefined || session.closed || session.destroyed ? undefined : session;
  }

  /** The connection, opened where it is not. Shortly after a failure it rejects with that failure, at once. */
  connect(): Promise<ClientHttp2Session> {
    const open = this.current();
    if (open !== undefined) return Promise.resolve(open);
    if (this.#connecting !== undefined) return this.#connecting;
    if (this.#closed || performance.now() < this.#retryAtMs) return Promise.reject(this.#failure);
    const connecting = this.#dial().finally(() => {
      this.#connecting = undefined;
    });
    this.#connecting = connecting;
    return connecting;
  }

  /** Lets running streams finish and takes no new ones. */
  close(): void {
    this.#closed = true;
    this.#failure = new Error("The connection was closed.");
    this.#session?.close();
  }

  #dial(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const session = connect(`http://${this.#address}`, {
        settings: { enablePush: false, initialWindowSize: streamWindowBytes },
        maxSessionMemory: sessionMemoryMb,
      });
      const timer = setTimeout(() => session.destroy(new Error("The connection took too long.")), connectTimeoutMs);
      let settled = false;
      const fail = (error: unknown) => {
        // One attempt fails once; a connection that breaks later tells its calls itself, and the next call dials at once.
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        this.#failures++;
        this.#failure = error;
        const wait = Math.min(retryAfterMs.first * 2 ** (this.#failures - 1), retryAfterMs.most);
        this.#retryAtMs = performance.now() + wait;
        this.#onFailure(this.#address, error);
        reject(error);
      };
      session.on("error", fail);
      session.once("close", () => fail(new Error("The connection was closed.")));
      session.once("connect", () => {
        clearTimeout(timer);
        settled = true;
        this.#failures = 0;
        if (this.#closed) session.close();
        this.#session = session;
        keepAlive(session);
        resolve(session);
      });
    });
  }
}

/** Ends a connection whose peer has silently gone, so that its calls fail and the next one dials anew. */
function keepAlive(session: ClientHttp2Session): void {
  let waiting: NodeJS.Timeout | undefined;
  const pinging = setInterval(() => {
    if (session.destroyed || waiting !== undefined) return;
    waiting = setTimeout(() => session.destroy(new Error("The peer does not answer.")), pingTimeoutMs);
    const sent = session.ping(() => {
      clearTimeout(waiting);
      waiting = undefined;
    });
    if (!sent) clearTimeout(waiting);
  }, pingEveryMs);
  pinging.unref();
  session.once("close", () => {
    clearInterval(pinging);
    clearTimeout(waiting);
  });
}
