import { TaskState } from "@drover/proto/event/v1/task_event";
import { afterAll, beforeAll, expect, test } from "vitest";
import { submit, untilEnded } from "./src/clients.ts";
import { containersOfTask } from "./src/docker.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

let suite: SuiteUnderTest;
beforeAll(async () => {
  suite = await startSuite("embedded");
});
afterAll(async () => await suite?.[Symbol.asyncDispose]());

const path = "/workspace/notes.txt";
const call = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });
const write = call("write_file", { path, content: "one\n" });
const bash = (command: string, more = {}) => call("bash", { command, ...more });
const python = (code: string) => call("run_code", { language: "python", code });
const edit = call("edit_file", { path, old_text: "two", new_text: "TWO" });
const grep = call("grep", { pattern: ".", path });

async function answerOf(prompt: string): Promise<{ taskId: string; answer: string }> {
  const task = await submit(suite.url, suite.apiKey, prompt);
  const ended = await untilEnded(suite.url, suite.apiKey, task.id, 90_000);
  expect(ended.state).toBe(TaskState.SUCCEEDED);
  return { taskId: task.id, answer: ended.answer };
}

test("every tool sees what the one before it did to the same file", async () => {
  const steps = [
    write,
    bash("echo two >>notes.txt"),
    python("open('notes.txt','a').write('three\\n')"),
    edit,
    bash("cat notes.txt; echo four >>notes.txt"),
    grep,
  ];
  suite.model.use((messages) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
    const next = steps[results.length];
    return next === undefined ? { text: results.slice(-2).join("\n====\n") } : { toolCalls: [next] };
  });
  const { taskId, answer } = await answerOf("Work on one file.");
  expect(answer).toContain("one\nTWO\nthree\n");
  for (const [line, text] of ["one", "TWO", "three", "four"].entries()) {
    expect(answer).toContain(`${path}:${line + 1}: ${text}`);
  }
  await expect.poll(() => containersOfTask(taskId), { timeout: 20_000 }).toHaveLength(0);
});

test("in parallel nothing is overwritten silently: each change is there or is told as a conflict", async () => {
  const parallel = [
    bash("echo from-bash >>notes.txt"),
    python("open('notes.txt','a').write('from-code\\n')"),
    call("edit_file", { path, old_text: "one", new_text: "from-edit" }),
    grep,
  ];
  suite.model.use((messages) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
    if (results.length === 0) return { toolCalls: [write] };
    if (results.length === 1) return { toolCalls: parallel };
    if (results.length === 1 + parallel.length) return { toolCalls: [grep] };
    return { text: results.slice(1).join("\n====\n") };
  });
  const { answer } = await answerOf("Work on one file at once.");
  const [fromBash = "", fromCode = "", fromEdit = "", , last = ""] = answer.split("\n====\n");
  for (const [result, mark] of [
    [fromBash, "from-bash"],
    [fromCode, "from-code"],
    [fromEdit, "from-edit"],
  ] as const) {
    const kept = last.includes(mark);
    const told = result.includes("CONFLICT") || result.startsWith("ERROR");
    expect([mark, kept || told]).toEqual([mark, true]);
    expect([mark, kept && told]).toEqual([mark, false]);
  }
});
