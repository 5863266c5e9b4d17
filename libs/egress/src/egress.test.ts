import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createEgress, type EgressOptions } from "./egress.ts";

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const local: EgressOptions = { allowPrivate: ["127.0.0.0/8"] };
const pointsTo =
  (...answers: readonly string[]): NonNullable<EgressOptions["resolve"]> =>
  async () => [{ address: answers[Math.min(answers.length - 1, count++)] ?? "", family: 4 }];
let count = 0;

test("fetches, sends the body and gives the status, the headers and the address", async () => {
  await using server = await serve(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    response.writeHead(201, { "x-seen": `${request.method} ${request.headers["x-a"]}` }).end(`got ${body}`);
  });
  await using egress = createEgress(local);
  const answer = await egress.fetch(`${server.url}/p`, { method: "POST", headers: { "x-a": "1" }, body: "hi" });
  expect([answer.status, answer.headers.get("x-seen"), answer.url, await answer.text()]).toEqual([
    201,
    "POST 1",
    `${server.url}/p`,
    "got hi",
  ]);
});

test("a name that points inside is refused, and the server never sees a connection", async () => {
  let seen = 0;
  await using server = await serve((_, response) => void response.end(String(seen++)));
  count = 0;
  await using egress = createEgress({ resolve: pointsTo("127.0.0.1") });
  await expect(egress.fetch(`http://public.example:${server.port}/`)).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
    metadata: { host: "public.example" },
  });
  expect(seen).toBe(0);
});

test("the answer of the resolver is used once and as it was checked: a change afterwards has no effect", async () => {
  await using server = await serve((_, response) => void response.end("inside"));
  count = 0;
  const resolve = pointsTo("127.0.0.9", "127.0.0.1");
  await using egress = createEgress({ allowPrivate: ["127.0.0.9"], resolve });
  // The first answer is allowed, and nobody listens there; a second look-up would have led to the server.
  await expect(egress.fetch(`http://rebind.example:${server.port}/`)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(count).toBe(1);
  await expect(egress.fetch(`http://rebind.example:${server.port}/`)).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
  });
});

test("one private address among public ones refuses the whole answer", async () => {
  const both = async () => [
    { address: "93.184.215.14", family: 4 as const },
    { address: "10.0.0.1", family: 4 as const },
  ];
  await using egress = createEgress({ resolve: both });
  await expect(egress.fetch("http://mixed.example/")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});

test("a redirect to a private address or another scheme is refused", async () => {
  const targets = ["http://169.254.169.254/latest", "http://[::1]:1/", "file:///etc/passwd", "http://u:p@127.0.0.1/"];
  await using server = await serve((request, response) => {
    response.writeHead(302, { location: targets[Number(request.url?.slice(1))] }).end();
  });
  await using egress = createEgress(local);
  const codes = await Promise.all(
    targets.map((_, index) => egress.fetch(`${server.url}/${index}`).catch((error) => error.code)),
  );
  expect(codes).toEqual(["PERMISSION_DENIED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
});

test("credentials stay within the origin, the method follows the standard, and redirects are bounded", async () => {
  const seen: unknown[] = [];
  await using other = await serve((request, response) => {
    seen.push([
      request.method,
      request.headers.authorization,
      request.headers["x-api-key"],
      request.headers["x-plain"],
    ]);
    response.end("there");
  });
  await using server = await serve((request, response) => {
    if (request.url === "/loop") return void response.writeHead(302, { location: "/loop" }).end();
    if (request.url === "/same") return void response.writeHead(307, { location: "/away" }).end();
    seen.push([request.method, request.headers.authorization]);
    response.writeHead(303, { location: `${other.url}/` }).end();
  });
  await using egress = createEgress(local);
  const headers = { authorization: "Bearer t", "x-api-key": "k", "x-plain": "p" };
  const answer = await egress.fetch(`${server.url}/same`, { method: "POST", headers, body: "b" });
  expect(await answer.text()).toBe("there");
  expect(seen).toEqual([
    ["POST", "Bearer t"],
    ["GET", undefined, undefined, "p"],
  ]);
  await expect(egress.fetch(`${server.url}/loop`)).rejects.toMatchObject({ reason: "EGRESS_REDIRECTS" });
  expect((await egress.fetch(`${server.url}/loop`, { redirect: "manual" })).status).toBe(302);
});

test.each([
  ["announced", { "content-length": "5000" }, Buffer.alloc(5000)],
  ["unannounced", {}, Buffer.alloc(5000)],
  ["compressed", { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(500_000))],
])("an answer over the cap, %s, is RESOURCE_EXHAUSTED", async (_, headers, body) => {
  await using server = await serve((_request, response) => void response.writeHead(200, headers).end(body));
  await using egress = createEgress({ ...local, limits: { maxResponseBytes: 1000 } });
  const read = async () => (await egress.fetch(server.url)).text();
  await expect(read()).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "EGRESS_RESPONSE_TOO_LARGE" });
});

test("silence before the headers and within the body ends in DEADLINE_EXCEEDED", async () => {
  await using server = await serve((request, response) => {
    if (request.url === "/body") response.writeHead(200).write("a");
  });
  await using egress = createEgress({ ...local, limits: { firstByteTimeoutMs: 40, bodyIdleTimeoutMs: 40 } });
  await expect(egress.fetch(server.url)).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED", reason: "EGRESS_TIMEOUT" });
  const read = async () => (await egress.fetch(`${server.url}/body`)).text();
  await expect(read()).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED", reason: "EGRESS_TIMEOUT" });
});

test("an abort rejects with its reason and closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  const abort = new AbortController();
  await using server = await serve((request) => {
    request.on("close", () => closed.resolve());
    abort.abort(new Error("enough"));
  });
  await using egress = createEgress(local);
  const pending = egress.fetch(server.url, { signal: abort.signal });
  await expect(pending).rejects.toThrow("enough");
  await closed.promise;
});

test("a dead host is UNAVAILABLE, named with the fault", async () => {
  const server = await serve(() => {});
  await server[Symbol.asyncDispose]();
  await using egress = createEgress(local);
  await expect(egress.fetch(server.url)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `${new URL(server.url).host} cannot be reached (ECONNREFUSED).`,
  });
});
