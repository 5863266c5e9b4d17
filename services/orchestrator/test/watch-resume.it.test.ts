import type { Script } from "@drover/testkit/scripted-model";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { code } from "./approving.ts";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";

const tenant = "acme";
/** The third call holds the task until it is cancelled. */
const calls = ["print one", "print two", "sleep 600000", "print four"];
const script: Script = (messages) => {
  const next = calls[messages.filter(({ role }) => role === "tool").length];
  return next === undefined ? { text: "finished" } : { toolCalls: [code(next)] };
};

let harness: Harness;
let one: Replica & AsyncDisposable;
let two: Replica & AsyncDisposable;
beforeAll(async () => {
  harness = await startHarness(script);
  one = await harness.orchestrator({ DROVER_WATCH_HEARTBEAT_MS: "250" });
  two = await harness.orchestrator({ DROVER_WATCH_HEARTBEAT_MS: "250" });
});
afterAll(async () => {
  await one?.[Symbol.asyncDispose]();
  await two?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

/** Goes on from what was seen for so many events, or until nothing comes for a while, or the stream ends. */
async function watchOn(replica: Replica, taskId: string, seen: bigint[], events: number): Promise<void> {
  let left = events;
  let messages = 0;
  const request = { taskId, afterSequence: seen.at(-1) ?? 0n };
  for await (const { message } of replica.client.watchTask(request, replica.as(tenant))) {
    if (message.case === "event") {
      seen.push(message.value.sequence);
      left--;
    }
    // The first message is a heartbeat that says nothing of silence.
    const silent = message.case === "heartbeat" && messages++ > 0;
    if (left <= 0 || (silent && Number.isFinite(events))) return;
  }
}

/** Cancelled in its third call. */
async function cancel(taskId: string): Promise<void> {
  const { toolCalls } = await one.client.listToolCalls({ taskId }, one.as(tenant));
  if (toolCalls.length < 3) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return await cancel(taskId);
  }
  await one.client.cancelTask({ taskId }, one.as(tenant));
  expect(stateName((await ended(two, tenant, taskId)).state)).toBe("CANCELLED");
}

test("cut at random points with a cancel and a resume in between, a watch has no gap and no duplicate", async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 3, maxLength: 7 });
  const place = fc.nat({ max: 6 });
  await fc.assert(
    fc.asyncProperty(cuts, place, place, async (lengths, a, b) => {
      const { id } = await submit(one, tenant, "Cut and resumed");
      const seen: bigint[] = [];
      const live: bigint[] = [];
      const cancelAt = Math.min(a, b) % lengths.length;
      const resumeAt = Math.max(cancelAt, Math.max(a, b) % lengths.length);
      let living = Promise.resolve();
      for (const [index, length] of lengths.entries()) {
        if (index === cancelAt) await cancel(id);
        // Also while the task has an end that is not its last one.
        await watchOn(index % 2 === 0 ? one : two, id, seen, length);
        if (index !== resumeAt) continue;
        await two.client.resumeTask({ taskId: id }, two.as(tenant));
        living = watchOn(two, id, live, Number.POSITIVE_INFINITY);
      }
      await watchOn(one, id, seen, Number.POSITIVE_INFINITY);
      await living;
      const all = await eventsOf(two, tenant, id);
      expect(all.map(({ sequence }) => Number(sequence))).toEqual(all.map((_, index) => index + 1));
      expect(all.filter(({ event }) => event.case === "taskCompleted")).toHaveLength(2);
      expect(seen).toEqual(all.map(({ sequence }) => sequence));
      expect(live).toEqual(seen);
    }),
    { numRuns: 6 },
  );
});
