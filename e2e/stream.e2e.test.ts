import { TaskState } from "@drover/proto/event/v1/task_event";
import { AgentService, PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import { ApprovalService, Decision } from "@drover/proto/orchestrator/v1/approval_service";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectClient, submit, untilEnded } from "./src/clients.ts";
import { readSse, type SseEvent } from "./src/sse.ts";
import { type Profile, type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const profiles: readonly Profile[] = ["embedded", "distributed"];

describe.each(profiles)("server-sent events on the %s profile", (profile) => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite(profile);
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("a stream cut at random points and resumed has no gap and no duplicate", async () => {
    suite.model.use(callsScript(Array.from({ length: 6 }, () => ({ name: "glob", arguments: { pattern: "**/*" } }))));
    const task = await submit(suite.url, suite.apiKey, "List the files six times.");
    const url = `${suite.url}/v1/tasks/${task.id}/events`;
    const resumed: SseEvent[] = [];
    let lastEventId: string | undefined;
    for (let cuts = 0; resumed.at(-1)?.event !== "task.completed"; cuts++) {
      expect(cuts).toBeLessThan(200);
      const cutAfterBytes = 1 + Math.floor(Math.random() * 1_500);
      for await (const event of readSse(url, suite.apiKey, { cutAfterBytes, ...(lastEventId && { lastEventId }) })) {
        if (event.id === undefined) continue;
        resumed.push(event);
        lastEventId = event.id;
      }
    }
    const whole: SseEvent[] = [];
    for await (const event of readSse(url, suite.apiKey)) if (event.id !== undefined) whole.push(event);
    expect(resumed).toEqual(whole);
    expect(whole.map((event) => Number(event.id))).toEqual(whole.map((_, i) => i + 1));
    const kinds = new Set(whole.map((event) => event.event));
    expect(kinds).toEqual(
      new Set([
        "task.status.changed",
        "agent.message.completed",
        "tool.call.requested",
        "tool.call.completed",
        "verification.completed",
        "task.completed",
      ]),
    );
    expect((await untilEnded(suite.url, suite.apiKey, task.id)).state).toBe(TaskState.SUCCEEDED);
  });

  test("text comes as deltas without an id before the whole message", async () => {
    suite.model.use(() => ({ text: "one two three four five six", chunkDelayMs: 60, delayMs: 1_000 }));
    const task = await submit(suite.url, suite.apiKey, "Count.");
    let text = "";
    let whole = "";
    for await (const event of readSse(`${suite.url}/v1/tasks/${task.id}/events`, suite.apiKey)) {
      const data = event.data as { text?: string; assistantMessage?: { text: string } };
      if (event.event === "agent.message.delta") {
        expect(event.id).toBeUndefined();
        text += data.text ?? "";
      }
      if (event.event === "agent.message.completed") whole = JSON.stringify(data);
    }
    expect(text).toBe("one two three four five six");
    expect(whole).toContain("one two three four five six");
  });
});

describe("a cursor that is older than what is kept", () => {
  test("gets a reset with the task as it is, and then every event that follows it", async () => {
    await using suite = await startSuite("distributed", {
      script: callsScript([{ name: "glob", arguments: { pattern: "**/*" } }]),
      environment: { DROVER_RETENTION_DAYS: "1", DROVER_CLEANUP_MS: "200" },
    });
    const policy = { name: "wait", tool: "glob", effect: PolicyEffect.ASK };
    await connectClient(AgentService, suite.url, suite.apiKey).putPolicy({ policy });
    const task = await submit(suite.url, suite.apiKey, "List the files.");
    const approvals = connectClient(ApprovalService, suite.url, suite.apiKey);
    const waiting = async () => (await approvals.listApprovals({ taskId: task.id })).approvals[0];
    const approval = await vi.waitUntil(waiting, { timeout: 30_000, interval: 100 });
    await suite.database?.execute(`UPDATE orchestrator.event SET at = at - interval '2 days';
      UPDATE orchestrator.task SET created_at = created_at - interval '2 days'`);
    const url = `${suite.url}/v1/tasks/${task.id}/events`;
    const first = async () => {
      for await (const event of readSse(url, suite.apiKey, { lastEventId: "1" })) return event;
    };
    await expect.poll(async () => (await first())?.event, { timeout: 30_000 }).toBe("task.reset");
    await approvals.decideApproval({
      ...{ approvalId: approval?.id ?? "", argumentsHash: approval?.argumentsHash ?? "" },
      decision: Decision.APPROVE,
    });
    const events: SseEvent[] = [];
    for await (const event of readSse(url, suite.apiKey, { lastEventId: "1" })) {
      if (event.id !== undefined) events.push(event);
    }
    expect(events[0]).toMatchObject({
      event: "task.reset",
      data: { task: { id: task.id, prompt: "List the files." } },
    });
    const ids = events.map(({ id }) => Number(id));
    expect(ids[0]).toBeGreaterThan(1);
    expect(ids).toEqual(ids.map((_, index) => Number(ids[0]) + index));
    expect(events.at(-1)?.event).toBe("task.completed");
    // Who knows an event that is kept is told of no reset.
    const rest: SseEvent[] = [];
    for await (const event of readSse(url, suite.apiKey, { lastEventId: events.at(-3)?.id ?? "" })) {
      if (event.id !== undefined) rest.push(event);
    }
    expect(rest).toEqual(events.slice(-2));
  });
});
