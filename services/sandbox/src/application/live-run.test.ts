import { expect, test } from "vitest";
import type { Execution } from "../domain/execution.ts";
import { defaultLimitPolicy } from "../domain/limits.ts";
import { LiveRun, type RunEvent } from "./live-run.ts";
import { LiveRuns } from "./live-runs.ts";

const execution: Execution = {
  id: "e1",
  tenant: "t",
  callId: "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
  taskId: "task",
  language: "bash",
  image: "i",
  runtime: "default",
  limits: defaultLimitPolicy.defaults,
  workspaceId: "",
  workspaceVersionBefore: 0,
  acceptedAt: new Date(0),
};
const never = new AbortController().signal;
const bytes = (text: string) => new TextEncoder().encode(text);

async function all(events: AsyncIterable<RunEvent>): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) {
    seen.push(
      event.kind === "data" ? `${event.stream}@${event.offset}:${new TextDecoder().decode(event.data)}` : event.kind,
    );
  }
  return seen;
}

test("followers that come early and late see the same run", async () => {
  const run = new LiveRun(execution);
  const early = all(run.follow(never));
  run.output("stdout", 0, bytes("a"));
  run.output("stdout", 1, bytes("b"));
  run.output("stderr", 0, bytes("c"));
  run.ended(execution);
  const late = await all(run.follow(never));
  expect(late).toEqual(["accepted", "stdout@0:ab", "stderr@0:c", "ended"]);
  expect(await early).toEqual(late);
});

test("the run is cancelled when its last follower leaves, also one that never began to read", async () => {
  const run = new LiveRun(execution);
  const [first, second] = [new AbortController(), new AbortController()];
  run.follow(first.signal);
  const reading = all(run.follow(second.signal));
  first.abort();
  expect(run.cancelSignal.aborted).toBe(false);
  second.abort();
  await expect(reading).rejects.toMatchObject({ code: "CANCELLED" });
  expect(run.cancelSignal.reason).toBe("cancel");
});

test("leaving after the end cancels nothing", async () => {
  const run = new LiveRun(execution);
  const reading = all(run.follow(never));
  run.ended(execution);
  await reading;
  expect(run.cancelSignal.aborted).toBe(false);
});

test("a run that is added after its task was cancelled, though its call was made before, is cancelled", () => {
  const live = new LiveRuns();
  live.cancelTask("t", "task");
  const run = new LiveRun(execution);
  live.add(run, new Promise(() => undefined));
  expect(run.cancelSignal.aborted).toBe(true);
});
