import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EdgeFixture, startEdge } from "./edge-fixture.ts";
import { readEvents } from "./event-stream.ts";

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ DROVER_SSE_HEARTBEAT_MS: "100" });
});
afterAll(() => edge?.[Symbol.asyncDispose]());

const path = () => `${edge.url}/v1/approvals/events`;

describe("GET /v1/approvals/events", () => {
  it("sends every change of the tenant's approvals, then stays open and says so", async () => {
    const { events, comments, status, headers } = await readEvents(path(), edge.bearer, { stopAfterMs: 1_000 });
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store, no-transform"]);
    expect(events.map(({ lastId, event }) => [lastId, event])).toEqual([
      ["1", "approval.required"],
      ["2", "approval.decided"],
      ["3", "approval.required"],
      ["4", "approval.decided"],
    ]);
    expect(JSON.parse(events[1]?.data ?? "")).toMatchObject({
      id: "a0",
      tool: "bash",
      state: "APPROVAL_STATE_APPROVED",
      decidedBy: "bob",
    });
    expect(comments).toContain("heartbeat");
    expect(edge.seen.caller).toMatchObject({ tenant: "default" });
    await expect.poll(() => edge.seen.aborted).toContain("approvals");
  });

  it("goes on after the last event that the client has", async () => {
    const { events } = await readEvents(path(), edge.bearer, { lastId: "3", stopAfterMs: 500 });
    expect(events.map(({ lastId }) => lastId)).toEqual(["4"]);
  });

  it.each([
    [{}, "GET", 401, "UNAUTHENTICATED"],
    [{ "last-event-id": "x" }, "GET", 400, "INVALID_ARGUMENT"],
    [{}, "POST", 501, "UNIMPLEMENTED"],
  ] as const)("refuses %j by %s as JSON", async (headers, method, status, code) => {
    const key: Record<string, string> = code === "UNAUTHENTICATED" ? {} : { ...edge.bearer };
    const response = await fetch(path(), { method, headers: { ...key, ...headers } });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
  });
});
