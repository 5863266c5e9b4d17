import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EdgeFixture, startEdge } from "./edge-fixture.ts";
import { readEvents } from "./event-stream.ts";
import { logLength } from "./fake-tasks.ts";

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ DROVER_SSE_HEARTBEAT_MS: "100", DROVER_SSE_STALL_MS: "500" });
});
afterAll(() => edge[Symbol.asyncDispose]());

const path = (task: string) => `${edge.url}/v1/tasks/${task}/events`;
const all = Array.from({ length: logLength }, (_, i) => String(i + 1));

describe("GET /v1/tasks/{id}/events", () => {
  it("sends every committed event once, then ends after task.completed", async () => {
    const { events, headers, status } = await readEvents(path("long"), edge.bearer);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(headers.get("cache-control")).toContain("no-transform");
    expect(headers.get("x-accel-buffering")).toBe("no");
    const committed = events.filter(({ hasId }) => hasId);
    expect(committed.map(({ lastId }) => lastId)).toEqual(all);
    expect(committed.at(-1)?.event).toBe("task.completed");
    expect(JSON.parse(committed[0]?.data ?? "")).toMatchObject({
      taskId: "long",
      sequence: "1",
      assistantMessage: { text: "line 1\nsecond" },
    });
    const deltas = events.filter(({ event }) => event === "agent.message.delta");
    expect(deltas.length).toBe(logLength);
    expect(deltas.every(({ hasId }) => !hasId)).toBe(true);
  });

  it("resumes without gap or duplicate, wherever it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 4 }), async (cuts) => {
        const ids: string[] = [];
        let lastId = "";
        for (const stopAfterBytes of [...cuts, undefined]) {
          const part = await readEvents(path("long"), edge.bearer, {
            lastId,
            ...(stopAfterBytes === undefined ? {} : { stopAfterBytes }),
          });
          ids.push(...part.events.filter(({ hasId }) => hasId).map((event) => event.lastId));
          lastId = part.lastId;
          if (lastId === String(logLength)) break;
        }
        expect(ids).toEqual(all);
      }),
      { numRuns: 25 },
    );
  });

  it("ends at once for a cursor at the end", async () => {
    const { events } = await readEvents(path("long"), edge.bearer, { lastId: String(logLength) });
    expect(events).toEqual([]);
  });

  it("answers at once and keeps a quiet stream alive with comments", async () => {
    const { comments, events } = await readEvents(path("endless"), edge.bearer, { stopAfterMs: 500 });
    expect(comments.filter((text) => text === "heartbeat").length).toBeGreaterThanOrEqual(2);
    expect(events).toEqual([]);
    await expect.poll(() => edge.seen.aborted).toContain("watch endless");
  });

  it("ends with a reason when the service fails, so that the client reconnects", async () => {
    const { comments, status } = await readEvents(path("broken"), edge.bearer);
    expect([status, comments.at(-1)]).toEqual([200, "INTERNAL; reconnect with Last-Event-ID"]);
  });

  it("cuts a client that does not read, and stops the watch", async () => {
    edge.seen.aborted.length = 0;
    const [host = "", port] = edge.gateway.address.split(":");
    const socket = connect(Number(port), host);
    socket.on("error", () => {});
    socket.pause();
    socket.write(`GET /v1/tasks/flood/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${edge.key}\r\n\r\n`);
    const before = process.memoryUsage().rss;
    await expect.poll(() => edge.seen.aborted).toContain("watch flood");
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 ** 2);
    socket.destroy();
  });

  it.each([
    ["long", { "last-event-id": "x" }, 400, "INVALID_ARGUMENT"],
    ["long", { "last-event-id": "-1" }, 400, "INVALID_ARGUMENT"],
    ["nobody", {}, 404, "NOT_FOUND"],
    ["%zz", {}, 400, "INVALID_ARGUMENT"],
  ])("refuses %s with %j as JSON", async (task, extra, status, code) => {
    const response = await fetch(path(task), { headers: { ...edge.bearer, ...extra } as Record<string, string> });
    expect(response.status).toBe(status);
    const body = (await response.json()) as { code: string; details: { violations: unknown[] } };
    expect(body.code).toBe(code);
    if (status === 400) {
      expect(body.details.violations[0]).toEqual({
        field: expect.any(String),
        found: expect.any(String),
        allowed: expect.any(String),
      });
    }
  });

  it("needs a key", async () => {
    const response = await fetch(path("long"));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain("Bearer");
    expect(await response.json()).toMatchObject({ code: "UNAUTHENTICATED" });
  });

  it("tells the caller when the orchestrator is away", async () => {
    await using lonely = await startEdge({ ORCHESTRATOR_ADDRESS: "127.0.0.1:1" });
    const response = await fetch(`${lonely.url}/v1/tasks/long/events`, { headers: lonely.bearer });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "UNAVAILABLE" });
  });
});
