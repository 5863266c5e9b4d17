import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { json } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";
import type { Pod } from "../../src/infrastructure/kubernetes/pod-state.ts";
import { FakeNode, type Manifest } from "./fake-node.ts";
import { shippedGrants } from "./manifests.ts";
import { faultsOfPod } from "./pod-schema.ts";
import { breaksOfRestricted } from "./restricted.ts";

type Verb = "create" | "get" | "list" | "watch" | "delete" | "attach";

/** What goes wrong with one request. */
type Fault =
  | { readonly status: number; readonly reason?: string; readonly message?: string; readonly retryAfter?: string }
  /** Nothing; the next one has its turn. */
  | "pass"
  /** The connection ends: before anything is done, after it is done without an answer, or never. */
  | "drop"
  | "done-unanswered"
  | "silence"
  /** A watch whose version is too old. */
  | "expired"
  /** Attached streams that end within a frame, speak no known channel, or answer no question. */
  | "cut"
  | "strange-channel"
  | "no-pong";

/** A fake API server, and what was asked of it. */
export interface FakeApiServer extends AsyncDisposable {
  readonly url: string;
  readonly namespace: string;
  readonly node: FakeNode;
  /** The token that is taken; a test may rotate it. */
  token: string;
  /** The newest channel protocol that it speaks. */
  newest: "v5" | "v4";
  readonly manifests: readonly Manifest[];
  /** Everything that was done, as `resource:verb`. */
  readonly used: ReadonlySet<string>;
  /** Channels of what came on attached streams, in order, neighbours once. */
  readonly protocols: string[];
  readonly inputEnds: number;
  /** Makes the next requests of a kind fail, one each. */
  fail(verb: Verb, ...faults: Fault[]): void;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const cutAfterBytes = 3;

/**
 * An API server for the Pods of one namespace, as strict as the real one: it wants a bearer token and JSON, lets nothing
 * be done that the shipped role does not grant, refuses fields it does not know and Pods below `restricted`, and speaks
 * the channel protocols over WebSocket.
 */
export async function startFakeApiServer(): Promise<FakeApiServer> {
  const fake = new Fake();
  const server = createServer((request, response) => {
    fake.answer(request, response).catch(() => response.destroy());
  });
  server.on("upgrade", (request, socket: Socket, head) => {
    fake.upgrade(request, socket, head).catch(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      fake.close();
      server.closeAllConnections();
      server.close();
      await fake.node.drain();
    },
  });
}

class Fake {
  readonly namespace = "drover-runs";
  readonly node = new FakeNode();
  readonly manifests: Manifest[] = [];
  readonly used = new Set<string>();
  readonly protocols: string[] = [];
  token: string = randomUUID();
  newest: "v5" | "v4" = "v5";
  inputEnds = 0;
  readonly #grants = shippedGrants();
  readonly #faults = new Map<Verb, Fault[]>();
  readonly #path = `/api/v1/namespaces/${this.namespace}/pods`;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => this.#agree(offered),
  });
  /** Answers no question of the client whether it is there. */
  readonly #deaf = new WebSocketServer({
    noServer: true,
    autoPong: false,
    handleProtocols: (offered) => this.#agree(offered),
  });

  fail(verb: Verb, ...faults: Fault[]): void {
    this.#faults.set(verb, [...(this.#faults.get(verb) ?? []), ...faults]);
  }

  close(): void {
    for (const client of [...this.#sockets.clients, ...this.#deaf.clients]) client.terminate();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", "http://x");
    const verb = verbOf(request.method ?? "", url);
    const fault = this.#faults.get(verb)?.shift();
    if (fault === "drop") return void request.socket.destroy();
    if (fault === "silence") return;
    const denied = typeof fault === "object" ? fault : this.#denied(request, url, `pods:${verb}`);
    if (denied !== undefined) return refuse(response, denied);
    if (verb === "watch") return this.#watch(url, response, fault === "expired");
    const { status, body } = await this.#done(verb, request, url);
    if (fault === "done-unanswered") return void request.socket.destroy();
    if (status >= 400) return refuse(response, { status, ...(body as object) });
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const url = new URL(request.url ?? "", "http://x");
    const fault = this.#faults.get("attach")?.shift();
    if (fault === "drop") return void socket.destroy();
    const name = url.pathname.slice(this.#path.length + 1).replace(/\/attach$/, "");
    const running = this.node.get(name)?.status?.phase === "Running";
    const missing = running ? undefined : { status: 400, reason: "BadRequest", message: "container is not running" };
    const denied =
      typeof fault === "object"
        ? fault
        : (this.#denied(request, url, "pods/attach:get", "pods/attach:create") ?? missing);
    if (denied !== undefined) {
      const body = statusBody(denied);
      const head = [`HTTP/1.1 ${denied.status} x`, "content-type: application/json", `content-length: ${body.length}`];
      return void socket.end(`${head.join("\r\n")}\r\nconnection: close\r\n\r\n${body}`);
    }
    const sockets = fault === "no-pong" ? this.#deaf : this.#sockets;
    sockets.handleUpgrade(request, socket, head, (client) => {
      this.protocols.push(client.protocol);
      this.#attach(name, client, fault).catch(() => client.terminate());
    });
  }

  #agree(offered: ReadonlySet<string>): string | false {
    const known = this.newest === "v5" ? ["v5.channel.k8s.io", "v4.channel.k8s.io"] : ["v4.channel.k8s.io"];
    return [...offered].find((protocol) => known.includes(protocol)) ?? false;
  }

  #denied({ method, headers }: IncomingMessage, { pathname }: URL, ...uses: string[]) {
    if (headers.authorization !== `Bearer ${this.token}`) return { status: 401, reason: "Unauthorized" };
    if (pathname === "/version") return undefined;
    if (!pathname.startsWith(this.#path)) return { status: 403, reason: "Forbidden", message: "not this namespace" };
    if (!uses.every((use) => this.#grants.has(use))) return { status: 403, reason: "Forbidden", message: uses.join() };
    for (const use of uses) this.used.add(use);
    const hasBody = method === "POST" || method === "DELETE";
    if (hasBody && headers["content-type"] !== "application/json")
      return { status: 415, reason: "UnsupportedMediaType" };
    if (headers.upgrade === undefined && headers.accept !== "application/json")
      return { status: 406, reason: "NotAcceptable" };
    return undefined;
  }

  async #done(verb: Verb, request: IncomingMessage, { pathname, searchParams }: URL): Promise<Answer> {
    if (pathname === "/version") return { status: 200, body: { gitVersion: "v1.35.0-fake" } };
    const name = pathname.slice(this.#path.length + 1);
    if (verb === "create") return this.#create(await json(request), searchParams);
    if (verb === "list") return { status: 200, body: page(this.node.list(), searchParams) };
    if (verb === "delete" && ((await json(request)) as { gracePeriodSeconds?: number }).gracePeriodSeconds === 0) {
      return { status: 400, body: { reason: "BadRequest", message: "a forced deletion proves nothing" } };
    }
    const pod = verb === "delete" ? this.node.remove(name) : this.node.get(name);
    return pod === undefined ? { status: 404, body: { reason: "NotFound" } } : { status: 200, body: pod };
  }

  #create(manifest: unknown, query: URLSearchParams): Answer {
    const faults =
      query.get("fieldValidation") === "Strict" ? faultsOfPod(manifest) : ["fieldValidation is not Strict"];
    if (faults.length > 0) return { status: 400, body: { reason: "BadRequest", message: faults.join("; ") } };
    const asked = manifest as Manifest;
    const breaks = breaksOfRestricted(asked.spec);
    if (breaks.length > 0) return { status: 403, body: { reason: "Forbidden", message: breaks.join("; ") } };
    this.manifests.push(asked);
    const body = this.node.create(asked);
    return body === undefined ? { status: 409, body: { reason: "AlreadyExists" } } : { status: 201, body };
  }

  #watch({ searchParams }: URL, response: ServerResponse, expired: boolean): void {
    response.writeHead(200, { "content-type": "application/json" });
    const send = (event: unknown) => response.write(`${JSON.stringify(event)}\n`);
    if (expired) {
      send({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
      return void response.end();
    }
    const name = searchParams.get("fieldSelector")?.replace("metadata.name=", "");
    const since = Number(searchParams.get("resourceVersion"));
    const stop = this.node.watch((event) => {
      if (event.object.metadata.name === name) send(event);
    });
    response.on("close", stop);
    const now = this.node.get(name ?? "");
    if (now !== undefined && Number(now.metadata.resourceVersion) > since) send({ type: "MODIFIED", object: now });
    if (now === undefined) response.end();
    response.flushHeaders();
  }

  async #attach(name: string, client: WebSocket, fault: Fault | undefined): Promise<void> {
    // What comes before the container is attached must wait, not be lost.
    client.pause();
    const attached = await this.node.attach(name);
    if (attached === undefined) return client.close(1011);
    const { socket, stdout, stderr } = attached;
    const send = (channel: number, data: Buffer, from: { pause(): void; resume(): void }) => {
      from.pause();
      client.send(Buffer.concat([Buffer.from([channel]), data]), () => from.resume());
    };
    stdout.on("data", (data: Buffer) => {
      if (fault === "strange-channel") return send(9, data, stdout);
      if (fault !== "cut") return send(1, data, stdout);
      client.send(Buffer.concat([Buffer.from([1]), data.subarray(0, cutAfterBytes)]), () => client.terminate());
    });
    stderr.on("data", (data: Buffer) => send(2, data, stderr));
    client.on("message", (data: Buffer) => {
      const [channel, which] = data;
      if (channel === 0) socket.write(data.subarray(1));
      else if (channel === 255 && which === 0 && client.protocol.startsWith("v5.")) this.#endInput(socket);
      else client.close(1002);
    });
    client.on("close", () => socket.end());
    client.resume();
    socket.on("end", () => {
      client.send(Buffer.concat([Buffer.from([3]), Buffer.from('{"status":"Success"}')]));
      client.close(1000);
    });
    socket.on("error", () => client.terminate());
  }

  #endInput(socket: NodeJS.WritableStream): void {
    this.inputEnds++;
    socket.end();
  }
}

function verbOf(method: string, { pathname, searchParams }: URL): Verb {
  if (method === "POST") return "create";
  if (method === "DELETE") return "delete";
  if (searchParams.get("watch") === "true") return "watch";
  return pathname.endsWith("/pods") ? "list" : "get";
}

/** Selected by label, in pages. */
function page(pods: readonly Pod[], query: URLSearchParams) {
  const [key = "", value] = (query.get("labelSelector") ?? "").split("=");
  const matching = pods.filter(({ metadata }) => metadata.labels?.[key] === value);
  const from = Number(query.get("continue") || 0);
  const end = from + Number(query.get("limit") ?? matching.length);
  const metadata = end < matching.length ? { continue: String(end) } : {};
  return { kind: "PodList", metadata, items: matching.slice(from, end) };
}

function statusBody({ status, reason = "", message = reason }: Exclude<Fault, string>): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason, message });
}

function refuse(response: ServerResponse, denied: Exclude<Fault, string>): void {
  const retry = denied.retryAfter === undefined ? {} : { "retry-after": denied.retryAfter };
  response.writeHead(denied.status, { "content-type": "application/json", ...retry }).end(statusBody(denied));
}
