import { once } from "node:events";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { describe, expect, it } from "vitest";
import { serve, startEdge } from "./edge-fixture.ts";
import { fakeTasks, type Seen } from "./fake-tasks.ts";
import { GrpcClient } from "./grpc-client.ts";

const { getTask, watchTask } = TaskService.method;

async function replica() {
  const seen: Seen = { aborted: [] };
  let calls = 0;
  const tasks = fakeTasks(seen);
  const server = await serve("orchestrator", "127.0.0.1:0", (router) =>
    router.service(TaskService, {
      ...tasks,
      getTask: ({ taskId }) => {
        calls++;
        return { task: { id: taskId } };
      },
    }),
  );
  return { server, calls: () => calls };
}

describe("several replicas of a service", () => {
  it("share the calls, and one of them may go away", async () => {
    const [one, two] = await Promise.all([replica(), replica()]);
    await using _two = two.server;
    await using edge = await startEdge({ ORCHESTRATOR_ADDRESS: `${one.server.address}, ${two.server.address}` });
    using client = new GrpcClient(edge.gateway.address);
    const call = () => client.unary(getTask, { taskId: "t" }, edge.bearer);
    await expect.poll(async () => (await call()) && Math.min(one.calls(), two.calls())).toBeGreaterThan(0);
    const before = [one.calls(), two.calls()];
    for (let i = 0; i < 20; i++) await call();
    expect([one.calls(), two.calls()]).toEqual(before.map((calls) => calls + 10));

    await one.server[Symbol.asyncDispose]();
    for (let i = 0; i < 20; i++) await call();
    expect(two.calls()).toBe((before[1] ?? 0) + 30);
  });

  it("are found by name", async () => {
    const { server } = await replica();
    await using _server = server;
    const port = server.address.split(":")[1];
    await using edge = await startEdge({ ORCHESTRATOR_ADDRESS: `dns:///localhost:${port}` });
    using client = new GrpcClient(edge.gateway.address);
    await expect(client.unary(getTask, { taskId: "t" }, edge.bearer)).resolves.toBeDefined();
  });
});

describe("many watches", () => {
  it("do not hold up a unary call, read or not", async () => {
    await using edge = await startEdge();
    const clients = Array.from({ length: 3 }, () => new GrpcClient(edge.gateway.address));
    try {
      const watches = clients.flatMap((client) =>
        Array.from({ length: 80 }, (_, i) =>
          client.stream(watchTask, { taskId: i % 8 ? "endless" : "flood" }, edge.bearer),
        ),
      );
      for (const watch of watches) watch.on("error", () => {});
      // Each is read once and then left alone, so that its window fills.
      await Promise.all(watches.map((watch) => once(watch, "readable")));
      const [client] = clients;
      // No watch ends by itself, so a call that one of them held up would miss its deadline.
      const deadline = Date.now() + 20_000;
      for (let i = 0; i < 20; i++) await client?.unary(getTask, { taskId: "t" }, edge.bearer, { deadline });
      for (const watch of watches) watch.cancel();
    } finally {
      for (const client of clients) client[Symbol.dispose]();
    }
  });
});
