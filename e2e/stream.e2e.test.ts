import { TaskState } from "@drover/proto/event/v1/task_event";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { submit, untilEnded } from "./src/clients.ts";
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
