import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "@drover/postgres";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGateway } from "../src/wiring.ts";
import { type EdgeFixture, serve, startEdge } from "./edge-fixture.ts";
import { fakeTasks } from "./fake-tasks.ts";
import { GrpcClient } from "./grpc-client.ts";

const { getTask, watchTask } = TaskService.method;

function dial(edge: EdgeFixture): Socket {
  const [host = "", port] = edge.gateway.address.split(":");
  const socket = connect(Number(port), host);
  socket.on("error", () => {});
  return socket;
}

async function timeToClose(socket: Socket): Promise<number> {
  const started = performance.now();
  socket.resume();
  await once(socket, "close");
  return performance.now() - started;
}

describe("slow and too many connections", () => {
  let edge: EdgeFixture;
  beforeAll(async () => {
    edge = await startEdge({
      DROVER_FIRST_BYTE_MS: "300",
      DROVER_HEADERS_MS: "500",
      DROVER_MAX_CONNECTIONS: "20",
    });
  });
  afterAll(() => edge[Symbol.asyncDispose]());

  it("cuts a connection that says nothing, or half a preface", async () => {
    expect(await timeToClose(dial(edge))).toBeGreaterThan(200);
    const half = dial(edge);
    half.write("PRI * HTTP/2.0\r\n");
    await timeToClose(half);
  });

  it("cuts HTTP/1.1 headers that never end", async () => {
    const socket = dial(edge);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toContain("408");
    await timeToClose(socket);
  });

  it("holds no more connections than it may", async () => {
    const sockets = Array.from({ length: 30 }, () => dial(edge));
    let dropped = 0;
    for (const socket of sockets) socket.once("close", () => dropped++).resume();
    await expect.poll(() => dropped).toBeGreaterThanOrEqual(10);
    for (const socket of sockets) socket.destroy();
  });
});

describe("odd requests", () => {
  let edge: EdgeFixture;
  beforeAll(async () => {
    edge = await startEdge({ DROVER_MAX_HEADER_BYTES: "4096" });
  });
  afterAll(() => edge[Symbol.asyncDispose]());

  it("takes a preface that comes byte by byte", async () => {
    const socket = dial(edge);
    for (const byte of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
      socket.write(byte);
      await sleep(2);
    }
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    const [answer] = await once(socket, "data");
    expect((answer as Buffer)[3]).toBe(4);
    socket.destroy();
  });

  it("refuses headers over the limit over both versions of HTTP, and lives on", async () => {
    const big = "x".repeat(8000);
    expect((await fetch(edge.url, { headers: { big } })).status).toBe(431);
    const session = connectHttp2(edge.url);
    const stream = session.request({ ":path": "/", big });
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(431);
    session.destroy();
    using client = new GrpcClient(edge.gateway.address);
    await expect(client.unary(getTask, { taskId: "t" }, { ...edge.bearer, big })).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
    await client.unary(getTask, { taskId: "t" }, edge.bearer);
  });

  it("refuses a request for two hosts, and gRPC that is no POST", async () => {
    const socket = dial(edge);
    socket.write("GET / HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
    await timeToClose(socket);
    const session = connectHttp2(edge.url);
    const path = "/drover.orchestrator.v1.TaskService/GetTask";
    const grpc = { ":path": path, "content-type": "application/grpc", te: "trailers", ...edge.bearer };
    const stream = session.request({ ":method": "PUT", ...grpc });
    stream.end();
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(405);
    session.destroy();
  });
});

describe("a drain", () => {
  it("ends watches at once with a status, lets calls finish, and closes its sessions", async () => {
    const reached = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    await using orchestrator = await serve("orchestrator", "127.0.0.1:0", (router) =>
      router.service(TaskService, {
        ...fakeTasks({ aborted: [] }),
        async getTask({ taskId }) {
          reached.resolve();
          await finish.promise;
          return { task: { id: taskId } };
        },
      }),
    );
    // The grace is longer than the test may take: nothing here may wait for its end.
    await using edge = await startEdge({
      ORCHESTRATOR_ADDRESS: orchestrator.address,
      DROVER_SHUTDOWN_GRACE_MS: "600000",
    });
    using client = new GrpcClient(edge.gateway.address);
    const watch = client.stream(watchTask, { taskId: "endless" }, edge.bearer);
    const ended = once(watch, "error");
    await once(watch, "data");
    const events = await fetch(`${edge.url}/v1/tasks/endless/events`, { headers: edge.bearer });
    const slow = client.unary(getTask, { taskId: "slow" }, edge.bearer);
    await reached.promise;
    const disposed = edge.gateway[Symbol.asyncDispose]();
    const [error] = await ended;
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining("shutting down") });
    expect(await events.text()).toContain("UNAVAILABLE; reconnect with Last-Event-ID");
    finish.resolve();
    expect((await slow).message.task?.id).toBe("slow");
    await disposed;
    await expect(fetch(edge.url)).rejects.toBeDefined();
  });
});

describe("keys", () => {
  it("are made once, by one of several starters, and written for the owner alone", async () => {
    await using edge = await startEdge();
    await using database = await emptied(edge);
    const file = join(edge.folder, "first", "api-key");
    const environment = { ...edge.environment, DROVER_BOOTSTRAP_KEY: undefined, DROVER_FIRST_KEY_FILE: file };
    const gateways = await Promise.all([startGateway(environment), startGateway(environment)]);
    const key = (await readFile(file, "utf8")).trim();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    for (const gateway of gateways) {
      using client = new GrpcClient(gateway.address);
      await client.unary(getTask, { taskId: "t" }, { authorization: `Bearer ${key}` });
    }
    await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));
    expect(await database.keys()).toHaveLength(1);
  });

  it("stop working soon after they are revoked, and their use is recorded", async () => {
    await using edge = await startEdge({ DROVER_KEY_CACHE_MS: "100" });
    using client = new GrpcClient(edge.gateway.address);
    await client.unary(getTask, { taskId: "t" }, edge.bearer);
    await using database = await opened(edge);
    await expect.poll(async () => (await database.keys())[0]?.last_used_at).toBeInstanceOf(Date);
    await database.revokeAll();
    await expect
      .poll(() =>
        client.unary(getTask, { taskId: "t" }, edge.bearer).then(
          () => 0,
          (error) => error.code,
        ),
      )
      .toBe(status.UNAUTHENTICATED);
  });
});

interface Keys {
  readonly api_key: { id: string; revoked_at: Date | null; last_used_at: Date | null };
}

async function opened(edge: EdgeFixture) {
  const db = openDatabase<Keys>({ url: edge.databaseUrl, service: "gateway", systemJobs: ["test"] });
  return {
    keys: () => db.withSystem("test", (tx) => tx.selectFrom("api_key").selectAll().execute()),
    revokeAll: () => db.withSystem("test", (tx) => tx.updateTable("api_key").set({ revoked_at: new Date() }).execute()),
    clear: () => db.withSystem("test", (tx) => tx.deleteFrom("api_key").execute()),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
}

async function emptied(edge: EdgeFixture) {
  const database = await opened(edge);
  await database.clear();
  return database;
}
