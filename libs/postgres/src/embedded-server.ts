import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { PGlite } from "@electric-sql/pglite";
import { type FrontendMessage, frontendMessages, requestOf, startupPacket } from "./frontend-messages.ts";

/** A listening protocol server. */
export interface EmbeddedServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * A client that opens a transaction and falls silent stops everybody else; after this long its connection is closed
 * and the transaction rolled back.
 */
const idleInTransactionMs = 60_000;
const maxConnections = 256;

/**
 * Lets ordinary clients on 127.0.0.1 share the one session of an embedded database. A connection has the session from
 * the first message of a statement to the end of the transaction; between two statements another one may take it. (The
 * messages of one statement, Parse to Sync, must not mix with those of another: both name the unnamed statement.)
 */
export async function serveProtocol(db: PGlite, port: number, password: string): Promise<EmbeddedServer> {
  const session = new Turns();
  const welcome = await welcomeOf(db);
  const sockets = new Set<Socket>();
  const server: Server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    // A connection that breaks off ends its own conversation and nothing else.
    const conversation = new Conversation(db, session, socket, password, welcome).run().catch(() => {});
    void conversation.then(() => sockets.delete(socket));
  });
  server.maxConnections = maxConnections;
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: address !== null && typeof address === "object" ? address.port : port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Hands the session round in the order of asking. */
class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves with the function that ends the turn. */
  async next(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    return resolve;
  }
}

/** Message types after which the server answers what it has; without H it also says that it is ready again. */
const endsStatement = new Set(["Q", "S", "F", "c", "f", "H"]);

class Conversation {
  readonly #db: PGlite;
  readonly #session: Turns;
  readonly #socket: Socket;
  readonly #password: Buffer;
  readonly #welcome: Buffer;
  #state: "new" | "asked" | "welcome" = "new";
  #endTurn: (() => void) | undefined;
  #mustSync = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(db: PGlite, session: Turns, socket: Socket, password: string, welcome: Buffer) {
    this.#db = db;
    this.#session = session;
    this.#socket = socket;
    this.#password = Buffer.from(password);
    this.#welcome = welcome;
  }

  async run(): Promise<void> {
    let statement: FrontendMessage[] = [];
    try {
      for await (const message of frontendMessages(this.#socket)) {
        if (message.type === "X") return;
        if (this.#state !== "welcome") {
          if (!this.#greet(message)) return;
          continue;
        }
        statement.push(message);
        if (!endsStatement.has(message.type)) continue;
        await this.#execute(statement, message.type !== "H");
        statement = [];
        if (this.#socket.writableNeedDrain) await drained(this.#socket);
      }
    } finally {
      await this.#leave();
      this.#socket.destroy();
    }
  }

  /** The messages before the first statement, which need no turn; false ends the connection. */
  #greet(message: FrontendMessage): boolean {
    if (this.#state === "new") {
      const request = requestOf(message);
      if (request === "encryption") this.#socket.write("N");
      if (request !== "startup") return request === "encryption";
      this.#state = "asked";
      this.#socket.write(authenticationCleartextPassword);
      return true;
    }
    const given = Buffer.from(message.bytes.subarray(5, -1));
    const right = given.length === this.#password.length && timingSafeEqual(given, this.#password);
    if (message.type !== "p" || !right) {
      this.#socket.end(wrongPassword());
      return false;
    }
    this.#state = "welcome";
    this.#socket.write(this.#welcome);
    return true;
  }

  async #execute(statement: readonly FrontendMessage[], ready: boolean): Promise<void> {
    clearTimeout(this.#idle);
    this.#endTurn ??= await this.#session.next();
    // The client may have gone while it waited for its turn.
    if (this.#socket.destroyed) return;
    this.#mustSync = !ready;
    await this.#db.runExclusive(async () => {
      const onRawData = (data: Uint8Array) => void this.#socket.write(Buffer.from(data));
      for (const { bytes } of statement) await this.#db.execProtocolRawStream(bytes, { onRawData });
    });
    if (ready && !this.#db.isInTransaction()) return this.#giveTurn();
    this.#idle = setTimeout(() => this.#socket.destroy(), idleInTransactionMs);
  }

  /** Leaves the session as if the client had never begun what it did not end. */
  async #leave(): Promise<void> {
    clearTimeout(this.#idle);
    if (this.#endTurn === undefined) return;
    try {
      if (this.#mustSync)
        await this.#db.runExclusive(() => this.#db.execProtocolRawStream(sync, { onRawData: () => {} }));
      if (this.#db.isInTransaction()) await this.#db.exec("ROLLBACK");
    } finally {
      this.#giveTurn();
    }
  }

  #giveTurn(): void {
    this.#endTurn?.();
    this.#endTurn = undefined;
  }
}

/**
 * What the database answers to a client that was let in: its settings, and that it is ready. There is one session, so
 * it is the same for everybody.
 */
async function welcomeOf(db: PGlite): Promise<Buffer> {
  const parameters = Buffer.from("user\0postgres\0database\0postgres\0\0");
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + parameters.length);
  head.writeInt32BE(startupPacket, 4);
  const answer: Buffer[] = [];
  const onRawData = (data: Uint8Array) => void answer.push(Buffer.from(data));
  await db.runExclusive(() => db.execProtocolRawStream(Buffer.concat([head, parameters]), { onRawData }));
  return Buffer.concat(answer);
}

const authenticationCleartextPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
const sync = Buffer.from([0x53, 0, 0, 0, 4]);

function wrongPassword(): Buffer {
  const fields = Buffer.from("SFATAL\0C28P01\0Mpassword authentication failed\0\0");
  const head = Buffer.from("E0000");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Resolves when the socket takes more or is closed; leaves no listener behind. */
async function drained(socket: Socket): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(socket, "drain", { signal }), once(socket, "close", { signal })]);
  } finally {
    settled.abort();
  }
}
