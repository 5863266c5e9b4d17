import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { AgentService, PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import { type Approval, ApprovalService, ApprovalState } from "@drover/proto/orchestrator/v1/approval_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { SpanState } from "@drover/proto/trace/v1/trace";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectClient, submit, untilEnded } from "./src/clients.ts";
import { readSse } from "./src/sse.ts";
import { type Profile, type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const profiles: readonly Profile[] = ["embedded", "distributed"];
const program = resolve(import.meta.dirname, "../cli/src/main.ts");
const run = promisify(execFile);

describe.each(profiles)("approvals on the %s profile", (profile) => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite(profile);
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("a command that a policy asks about waits, is seen by a watcher, and runs when it is approved by the command line", async () => {
    suite.model.use(callsScript([{ name: "bash", arguments: { command: "echo approved-indeed" } }]));
    const policy = { name: "ask-first", tool: "bash", effect: PolicyEffect.ASK, reason: "commands are looked at" };
    await connectClient(AgentService, suite.url, suite.apiKey).putPolicy({ policy });
    const watching = firstOf(suite);
    const task = await submit(suite.url, suite.apiKey, "Say so.");
    const approval = await watching;
    expect(approval).toMatchObject({ taskId: task.id, rule: "ask-first", reason: "commands are looked at" });
    const environment = { PATH: process.env.PATH ?? "", DROVER_API_KEY: suite.apiKey, DROVER_URL: suite.url };
    const words = [program, "approvals", "approve", approval.id, "--comment", "go on"];
    const { stdout } = await run(process.execPath, words, { env: environment });
    expect(stdout).toContain("approved   bash · policy ask-first");
    const ended = await untilEnded(suite.url, suite.apiKey, task.id);
    expect([ended.state, ended.answer]).toEqual([TaskState.SUCCEEDED, expect.stringContaining("approved-indeed")]);
    const kinds: string[] = [];
    for await (const { event } of readSse(`${suite.url}/v1/tasks/${task.id}/events`, suite.apiKey)) {
      if (event !== undefined) kinds.push(event);
    }
    expect(kinds.filter((kind) => kind.startsWith("approval."))).toEqual(["approval.required", "approval.decided"]);
    expect(await waitOf(suite, task.traceId, approval.id)).toEqual(["approved", expect.any(String), "go on"]);
    const stream = readSse(`${suite.url}/v1/approvals/events`, suite.apiKey);
    expect((await stream.next()).value).toMatchObject({ event: "approval.required", data: { taskId: task.id } });
    expect((await stream.next()).value).toMatchObject({ event: "approval.decided", data: { id: approval.id } });
    await stream.return();
  });

  test("a task that is cancelled while it waits ends the wait in its trace, too", async () => {
    suite.model.use(callsScript([{ name: "bash", arguments: { command: "echo never" } }]));
    const policy = { name: "ask-first", tool: "bash", effect: PolicyEffect.ASK };
    await connectClient(AgentService, suite.url, suite.apiKey).putPolicy({ policy });
    const task = await submit(suite.url, suite.apiKey, "Say so.");
    const approvals = connectClient(ApprovalService, suite.url, suite.apiKey);
    const query = { taskId: task.id, states: [ApprovalState.PENDING] };
    const asked = async () => (await approvals.listApprovals(query)).approvals[0];
    const approval = await vi.waitUntil(asked, { timeout: 20_000, interval: 100 });
    await connectClient(TaskService, suite.url, suite.apiKey).cancelTask({ taskId: task.id });
    expect((await untilEnded(suite.url, suite.apiKey, task.id)).state).toBe(TaskState.CANCELLED);
    expect((await waitOf(suite, task.traceId, approval?.id ?? ""))[0]).toBe("withdrawn");
  });
});

/** Decision, actor and comment of the span in which an approval was waited for, once it has ended. */
async function waitOf({ url, apiKey }: SuiteUnderTest, traceId: string, approvalId: string) {
  const traces = connectClient(TraceService, url, apiKey);
  const ended = async () => {
    const { spans } = await traces.getTrace({ traceId });
    const waits = spans.filter((span) => span.attributes["drover.approval.id"] === approvalId);
    expect(waits.length).toBeLessThanOrEqual(1);
    return waits.find(({ kind, state }) => kind === "wait" && state === SpanState.ENDED);
  };
  const span = await vi.waitUntil(ended, { timeout: 20_000, interval: 100 });
  return ["drover.approval.decision", "drover.actor", "drover.reason"].map((key) => span?.attributes[key]);
}

async function firstOf({ url, apiKey }: SuiteUnderTest): Promise<Approval> {
  for await (const { approval } of connectClient(ApprovalService, url, apiKey).watchApprovals({})) {
    if (approval !== undefined) return approval;
  }
  throw new Error("The watch of approvals ended.");
}
