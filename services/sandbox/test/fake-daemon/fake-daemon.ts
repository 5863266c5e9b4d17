import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeProcess1, type ProgramScript } from "./fake-process1.ts";

/** What the service asked of the daemon. */
export interface Asked {
  readonly method: string;
  /** With the version prefix and container ids taken out, e.g. `/containers/:id/start`. */
  readonly route: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
}

/** Anything but the daemon's normal answer. */
export type Answer =
  | { readonly status: number; readonly message: string }
  /** The request has its effect, and the daemon says otherwise. */
  | { readonly status: number; readonly message: string; readonly done: true }
  /** The connection breaks without an answer. */
  | "drop"
  /** The daemon hangs: nothing comes, ever. */
  | "hang"
  /** The normal answer, this many milliseconds late. */
  | { readonly lateMs: number }
  /** The request has its effect and the connection breaks before the answer. */
  | "lose-answer";

/** How the daemon behaves where that is not normal. */
export interface Script {
  /** `nth` counts requests of this method and route from 1. Undefined is the normal answer. */
  answer?(asked: Asked, nth: number): Answer | undefined;
  /** What the program does; without it, it exits with 0. */
  program?: ProgramScript;
  /** How bytes of the attached stream are cut for the wire; without it, as they come. */
  cut?(bytes: Buffer): Buffer[];
  /** What the engine notes of memory. */
  readonly oomKilled?: boolean;
}

interface FakeContainer {
  readonly labels: Record<string, string>;
  state: "created" | "running" | "exited";
  process1?: FakeProcess1;
  readonly exited: PromiseWithResolvers<void>;
}

/** A Docker daemon of a few endpoints on a unix socket, whose every answer a test may replace. */
export class FakeDaemon implements AsyncDisposable {
  readonly asked: Asked[] = [];
  readonly containers = new Map<string, FakeContainer>();
  script: Script = {};
  readonly #directory: string;
  readonly #sockets = new Set<Socket>();
  readonly #counts = new Map<string, number>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #made = 0;

  constructor(directory: string) {
    this.#directory = directory;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket) => void this.#attach(request, socket as Socket));
  }

  get host(): string {
    return `unix://${this.#path}`;
  }

  get #path(): string {
    return join(this.#directory, "docker.sock");
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#path);
    await once(this.#server, "listening");
  }

  /** Forgets what was asked, and behaves as the script says from now on. */
  play(script: Script): void {
    this.script = script;
    this.asked.length = 0;
    this.#counts.clear();
  }

  /** Every connection breaks at once, as when the daemon is restarted. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Routes in the order they were asked for, reads and background work left out. */
  steps(): string[] {
    return this.asked.filter(({ method }) => method !== "GET").map(({ method, route }) => `${method} ${route}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.dropAll();
    this.#server.close();
    await rm(this.#directory, { recursive: true });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await this.#note(request);
    const answer = this.#scripted(asked);
    if (answer === "hang") return;
    if (answer === "drop") return void request.socket.destroy();
    if (typeof answer === "object" && "status" in answer && !("done" in answer)) {
      return reply(response, answer.status, answer);
    }
    if (typeof answer === "object" && "lateMs" in answer) await sleep(answer.lateMs);
    const [status, body] = await this.#normal(asked, request.url ?? "");
    if (typeof answer === "object" && "status" in answer) return reply(response, answer.status, answer);
    if (answer === "lose-answer") return void request.socket.destroy();
    reply(response, status, body);
  }

  async #attach(request: IncomingMessage, socket: Socket): Promise<void> {
    const asked = await this.#note(request, false);
    const answer = this.#scripted(asked);
    const container = this.containers.get(idIn(request.url ?? ""));
    if (answer === "drop" || container === undefined) return void socket.destroy();
    if (typeof answer === "object" && "status" in answer) {
      const body = JSON.stringify(answer);
      socket.end(`HTTP/1.1 ${answer.status} Failed\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    container.process1 = new FakeProcess1(socket, this.script, () => exit(container));
  }

  async #note(request: IncomingMessage, withBody = true): Promise<Asked> {
    const url = new URL(request.url ?? "/", "http://docker");
    let text = "";
    if (withBody) for await (const chunk of request) text += String(chunk);
    const route = url.pathname.replace(/^\/v[\d.]+/, "").replace(/^(\/containers\/)f[0-9a-f]{63}/, "$1:id");
    const method = request.method ?? "";
    const asked = { method, route, query: url.searchParams, body: text === "" ? {} : JSON.parse(text) };
    this.asked.push(asked);
    return asked;
  }

  #scripted(asked: Asked): Answer | undefined {
    const key = `${asked.method} ${asked.route}`;
    const nth = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, nth);
    return this.script.answer?.(asked, nth);
  }

  async #normal({ method, route, query, body }: Asked, url: string): Promise<[number, unknown]> {
    if (route === "/version") return [200, { Version: "0.0-fake", ApiVersion: "1.47" }];
    if (route === "/_ping") return [200, "OK"];
    if (route === "/info") return [200, { Runtimes: { runc: {} }, DefaultRuntime: "runc", SecurityOptions: [] }];
    if (route.startsWith("/images/")) return [200, { Id: "sha256:fake", Config: { Labels: {} } }];
    if (route === "/containers/json") return [200, this.#list(query)];
    if (route === "/containers/create") return [201, { Id: this.#create(body), Warnings: [] }];
    const container = this.containers.get(idIn(url));
    if (container === undefined) return [404, { message: "No such container" }];
    return await this.#ofContainer(method, route, container, idIn(url));
  }

  async #ofContainer(method: string, route: string, container: FakeContainer, id: string): Promise<[number, unknown]> {
    switch (`${method} ${route}`) {
      case "GET /containers/:id/json":
        return [200, { Id: id, State: this.#stateOf(container) }];
      case "POST /containers/:id/start":
        container.state = "running";
        container.process1?.ready();
        return [204, undefined];
      case "POST /containers/:id/wait":
        await container.exited.promise;
        return [200, { StatusCode: 137 }];
      case "POST /containers/:id/kill":
        if (container.state !== "running") return [409, { message: "is not running" }];
        exit(container);
        return [204, undefined];
      case "DELETE /containers/:id":
        exit(container);
        this.containers.delete(id);
        return [204, undefined];
      default:
        return [501, { message: `${method} ${route} is not for this service` }];
    }
  }

  #stateOf({ state }: FakeContainer) {
    return { Running: state === "running", OOMKilled: this.script.oomKilled === true, ExitCode: 137, Status: state };
  }

  #create(body: Record<string, unknown>): string {
    const id = `f${String(++this.#made).padStart(63, "0")}`;
    const labels = body.Labels as Record<string, string>;
    this.containers.set(id, { labels, state: "created", exited: Promise.withResolvers() });
    return id;
  }

  #list(query: URLSearchParams) {
    const { label: wanted = [] }: { label?: string[] } = JSON.parse(query.get("filters") ?? "{}");
    return [...this.containers]
      .filter(([, { labels }]) => wanted.every((pair) => labels[pair.split("=")[0] ?? ""] === pair.split("=")[1]))
      .map(([Id, { labels, state }]) => ({ Id, Labels: labels, State: state }));
  }
}

/** A daemon that listens on a socket of its own. */
export async function startFakeDaemon(): Promise<FakeDaemon> {
  const daemon = new FakeDaemon(await mkdtemp(join(tmpdir(), "fake-daemon-")));
  await daemon.listen();
  return daemon;
}

function exit(container: FakeContainer): void {
  container.state = "exited";
  container.process1?.end();
  container.exited.resolve();
}

function idIn(url: string): string {
  return /\/containers\/(f[0-9a-f]{63})/.exec(url)?.[1] ?? "";
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
