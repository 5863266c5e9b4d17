import { callsScript, echoScript, failingScript, type Script, turnsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit, until } from "./harness.ts";

let harness: Harness;
let replica: Replica;
beforeAll(async () => {
  harness = await startHarness();
  replica = await harness.orchestrator();
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });

test("a task without tools: states, answer, usage and a gapless log", async () => {
  harness.model.use(echoScript);
  const task = await submit(replica, "acme", "Say it");
  const events = await eventsOf(replica, "acme", task.id);
  expect(events.map((e) => Number(e.sequence))).toEqual(events.map((_, i) => i + 1));
  expect(events.map((e) => e.event.case)).toEqual([
    "statusChanged",
    "statusChanged",
    "assistantMessage",
    "statusChanged",
    "verificationCompleted",
    "statusChanged",
    "taskCompleted",
  ]);
  const done = await ended(replica, "acme", task.id);
  expect(stateName(done.state)).toBe("SUCCEEDED");
  expect(done.answer).toBe("You said: Say it");
  expect(done.usage?.inputTokens).toBeGreaterThan(0n);
  expect([done.round, done.attempt, done.createdBy]).toEqual([1, 1, "alice"]);
  const log = harness.peers.conversations.get(done.conversationId) ?? [];
  expect(log.map((m) => [m.clientMessageId, m.pinned])).toEqual([
    [`${task.id}/1/0`, true],
    [`${task.id}/2/0`, false],
  ]);
  expect(harness.peers.subjects).toContain("acme/alice");
});

test("parallel calls run at once and their results stand in call order", async () => {
  harness.model.use(callsScript([code("sleep 1200"), code("sleep 600"), code("print last")]));
  const task = await submit(replica, "acme", "Run three");
  const events = await eventsOf(replica, "acme", task.id);
  const of = (name: string) => events.filter((e) => e.event.case === name).map((e) => e.event.value as never);
  const requested = of("toolCallRequested").map(({ callId }: { callId: string }) => callId);
  const completed = of("toolCallCompleted").map(({ callId }: { callId: string }) => callId);
  expect(completed).toEqual(requested);
  expect(requested).toHaveLength(3);
  expect(harness.peers.ended.slice(-3)).toEqual(requested.toReversed());
  const { answer } = await ended(replica, "acme", task.id);
  expect(answer.split("\n").filter((line) => /^\d\./.test(line))).toHaveLength(3);
  expect(answer).toMatch(
    /1\. OK: python: exit code 0[\s\S]*slept 1200[\s\S]*2\. [\s\S]*slept 600[\s\S]*3\. [\s\S]*last/,
  );
});

test("arguments with a slip are mended, texts are read as what the tool wants, and what keeps failing is said to stop", async () => {
  const bad = (n: number) => ({ name: "read_file", arguments: { path: n } });
  const mended = {
    name: "run_code",
    arguments: "```json\n{'language':'python','code':'print ok','timeout_seconds':'7',}\n```",
  };
  harness.model.use(
    turnsScript([
      { toolCalls: [bad(1), mended] },
      { toolCalls: [bad(2)] },
      {
        toolCalls: [
          bad(3),
          { name: "glob", arguments: "not json" },
          { name: "read_file", arguments: { path: "../x" } },
        ],
      },
      { text: "Enough." },
    ]),
  );
  const task = await submit(replica, "acme", "Try again and again");
  const events = await eventsOf(replica, "acme", task.id);
  const results = events.flatMap(({ event }) => (event.case === "toolCallCompleted" ? [event.value] : []));
  expect(results.map(({ errorCode }) => errorCode)).toEqual([
    "BAD_ARGUMENTS",
    "",
    "BAD_ARGUMENTS",
    "TOO_MANY_BAD_ARGUMENTS",
    "BAD_ARGUMENTS",
    "BAD_PATH",
  ]);
  expect(results[3]?.summary).toContain("call 3 of read_file in this task");
  expect(stateName((await ended(replica, "acme", task.id)).state)).toBe("SUCCEEDED");
});

test("a call that the model wrote into its text is run as one", async () => {
  const written = '<tool_call>{"name":"run_code","arguments":{"language":"python","code":"print found"}}</tool_call>';
  harness.model.use(turnsScript([{ text: `I run it.\n${written}` }, { text: "It ran." }]));
  const task = await submit(replica, "acme", "Run it");
  const events = await eventsOf(replica, "acme", task.id);
  const results = events.flatMap(({ event }) => (event.case === "toolCallCompleted" ? [event.value] : []));
  expect(results.map(({ tool, errorCode }) => [tool, errorCode])).toEqual([["run_code", ""]]);
  const done = await ended(replica, "acme", task.id);
  expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", "It ran."]);
  const log = harness.peers.conversations.get(done.conversationId) ?? [];
  expect(log.map(({ text }) => text).join("\n")).not.toContain("<tool_call>");
});

test("unknown tools, bad arguments and a sandbox that is away are results, and the loop goes on", async () => {
  harness.peers.sandboxDown = true;
  const calls = [
    { name: "teleport", arguments: {} },
    { name: "run_code", arguments: { language: "cobol" } },
    { name: "glob", arguments: "not json" },
    { name: "read_file", arguments: { path: "../etc/passwd" } },
    code("print never"),
  ];
  harness.model.use(callsScript(calls));
  const { answer, state } = await ended(replica, "acme", (await submit(replica, "acme", "Try")).id);
  harness.peers.sandboxDown = false;
  expect(stateName(state)).toBe("SUCCEEDED");
  expect(answer).toMatch(/1\. ERROR UNKNOWN_TOOL/);
  expect(answer).toMatch(/2\. ERROR BAD_ARGUMENTS: [^\n]*must have required property 'code'/);
  expect(answer).toMatch(/3\. ERROR BAD_ARGUMENTS/);
  expect(answer).toMatch(/4\. ERROR BAD_PATH/);
  expect(answer).toMatch(/5\. ERROR SANDBOX_UNAVAILABLE: Code cannot be run now: No Docker daemon answers/);
});

test("the file, search and spill tools speak to their services", async () => {
  const calls = [
    { name: "write_file", arguments: { path: "notes/a.txt", content: "hello" } },
    { name: "grep", arguments: { pattern: "needle", path: "**" } },
    { name: "search_documents", arguments: { query: "refund rule" } },
  ];
  const reads = [
    { name: "read_file", arguments: { path: "/workspace/notes/a.txt" } },
    { name: "list_directory", arguments: {} },
    { name: "glob", arguments: { pattern: "**/*.txt" } },
  ];
  const script: Script = (messages) => {
    const tools = messages.filter((m) => m.role === "tool").map((m) => String(m.content));
    if (tools.length === 0) return { toolCalls: calls };
    return tools.length === 3 ? { toolCalls: reads } : { text: tools.join("\n") };
  };
  harness.model.use(script);
  const done = await ended(replica, "acme", (await submit(replica, "acme", "Files")).id);
  expect(done.answer).toContain("OK: wrote 5 bytes to /workspace/notes/a.txt");
  expect(done.answer).toContain("/workspace/a/b.log:3: found needle");
  expect(done.answer).toContain("[1] runbook.md > default (characters 1 to 9)\nabout refund rule");
  expect(done.answer).toContain("OK: /workspace/notes/a.txt, whole file\nhello");
  expect(done.answer).toContain("/workspace/notes/ (1 files)");
  expect(done.answer).toContain("OK: 1 files match **/*.txt\n/workspace/notes/a.txt (5 bytes)");
  expect(done.workspaceId).toBe(harness.peers.workspaces.get(done.id));
});

test("long results are stored whole and shown in part, and secrets never leave the orchestrator", async () => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  harness.model.use(callsScript([code("print-many 40000"), code("print-many 10000"), code(`print token ${secret}`)]));
  const task = await submit(replica, "acme", "Long");
  const events = await eventsOf(replica, "acme", task.id);
  const done = await ended(replica, "acme", task.id);
  expect(done.answer).toMatch(/first 2048 of 40\d{3} characters\. The whole text is stored at spill:/);
  expect(done.answer).toMatch(/first 8000 of 10\d{3} characters/);
  const spilled = [...harness.peers.spills].filter(([pointer]) => pointer.includes(done.conversationId));
  expect(spilled.map(([, text]) => text.length > 10_000)).toEqual([true, true]);
  const everything = JSON.stringify([events, harness.peers.conversations.get(done.conversationId), done], (_k, v) =>
    typeof v === "bigint" ? String(v) : v,
  );
  expect(everything).not.toContain(secret);
  expect(everything).toContain("[redacted:");
});

test("at the round limit the model is asked once more without tools, and the answer says so", async () => {
  const script: Script = (_messages, tools) =>
    tools.length > 0 ? { toolCalls: [code("print again")] } : { text: "This is what I have." };
  harness.model.use(script);
  const done = await ended(replica, "acme", (await submit(replica, "acme", "Loop", { maxRounds: 2 })).id);
  expect(done.answer).toBe(
    "[Stopped at the limit of 2 rounds; this answer may be incomplete.]\n\nThis is what I have.",
  );
  expect([stateName(done.state), done.round]).toEqual(["SUCCEEDED", 2]);
  harness.model.use((_messages, tools) => (tools.length > 0 ? { toolCalls: [code("print again")] } : { status: 400 }));
  const failed = await ended(replica, "acme", (await submit(replica, "acme", "Loop", { maxRounds: 1 })).id);
  expect([stateName(failed.state), failed.failureReason]).toEqual(["FAILED", "BUDGET_EXHAUSTED_ROUNDS"]);
});

test("a dead model, a refusal and two empty turns end the task with their reason", async () => {
  harness.model.use(failingScript(503));
  const dead = await ended(replica, "acme", (await submit(replica, "acme", "Anybody?")).id);
  expect([stateName(dead.state), dead.failureReason]).toEqual(["FAILED", "MODEL_UNAVAILABLE"]);
  expect(dead.failureMessage).toMatch(/model endpoint 127\.0\.0\.1/);
  harness.model.use(turnsScript([{}, {}]));
  const empty = await ended(replica, "acme", (await submit(replica, "acme", "Nothing")).id);
  expect(empty.failureReason).toBe("MODEL_OUTPUT_UNUSABLE");
  harness.model.use(turnsScript([{}, { text: "at last" }]));
  const nudged = await ended(replica, "acme", (await submit(replica, "acme", "Something")).id);
  expect(nudged.answer).toBe("at last");
});

test("memory that is away for a moment is waited for, for long it fails the task", async () => {
  harness.model.use(echoScript);
  harness.peers.memoryDown = true;
  const waits = await submit(replica, "acme", "Wait");
  setTimeout(() => {
    harness.peers.memoryDown = false;
  }, 700);
  expect(stateName((await ended(replica, "acme", waits.id)).state)).toBe("SUCCEEDED");
  harness.peers.memoryDown = true;
  const fails = await ended(replica, "acme", (await submit(replica, "acme", "Fail")).id);
  harness.peers.memoryDown = false;
  expect([stateName(fails.state), fails.failureReason]).toEqual(["FAILED", "MEMORY_UNAVAILABLE"]);
});

test("a cancel in the middle of a tool stops it, keeps the history whole and is the end", async () => {
  harness.model.use(callsScript([code("print quick"), code("sleep 600000")]));
  const before = harness.peers.begun.length;
  const task = await submit(replica, "acme", "Cancel me");
  await until(() => harness.peers.begun.length === before + 2);
  const { task: answered } = await replica.client.cancelTask(
    { taskId: task.id, reason: "not needed" },
    replica.as("acme", ["tasks:write"], "bob"),
  );
  expect(answered?.cancelRequested).toBe(true);
  const events = await eventsOf(replica, "acme", task.id);
  expect(harness.peers.ended).toContain(harness.peers.begun.at(-1));
  expect(events.at(-2)?.event).toMatchObject({ case: "statusChanged", value: { actor: "bob", reason: "not needed" } });
  expect(events.at(-1)).toMatchObject({
    round: 1,
    event: { case: "taskCompleted", value: { failureMessage: "Cancelled by bob in round 1: not needed" } },
  });
  const done = await ended(replica, "acme", task.id);
  expect(stateName(done.state)).toBe("CANCELLED");
  await until(() => (harness.peers.conversations.get(done.conversationId)?.length ?? 0) === 4);
  const roles = harness.peers.conversations.get(done.conversationId)?.map((m) => m.text.split(":")[0]);
  expect(roles?.slice(2)).toEqual(["OK", "ERROR CANCELLED"]);
  const again = await replica.client.cancelTask({ taskId: task.id }, replica.as("acme"));
  expect(again.task?.lastSequence).toBe(done.lastSequence);
});

test("a cancel in the middle of a model turn closes its stream", async () => {
  harness.model.use(() => ({ text: "word ".repeat(400), chunkDelayMs: 50 }));
  const before = harness.model.requests.length;
  const task = await submit(replica, "acme", "Talk");
  await until(() => harness.model.requests.length > before);
  await replica.client.cancelTask({ taskId: task.id }, replica.as("acme"));
  expect(stateName((await ended(replica, "acme", task.id)).state)).toBe("CANCELLED");
  await until(() => harness.model.requests.at(-1)?.aborted === true);
});
