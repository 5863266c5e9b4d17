import { readFileSync } from "node:fs";
import { collectDecision, type Message, type ToolCall, type ToolSpec } from "@drover/model";
import { createOpenAiGateway } from "@drover/model/openai";
import { redact } from "@drover/redaction";
import { expect, test } from "vitest";
import { startScriptedModel } from "./server.ts";

const task = "Help me find out why order ORD-2024-0117 is stuck in payment pending";
const demo = (name: string) => readFileSync(new URL(`../../../../demo/${name}`, import.meta.url), "utf8");
const parameters = { type: "object", properties: {} };
const tools: readonly ToolSpec[] = ["read_file", "run_code", "read_spill", "search_documents", "grep"].map((name) => ({
  name,
  description: name,
  parameters,
}));

type Tool = (args: Record<string, string>) => string;
type Tools = Readonly<Record<string, Tool>>;

const preview = (text: string) =>
  text.length <= 32_000
    ? text
    : `${text.slice(0, 2_048)}\n[Shown are the first 2048 of ${text.length} characters. The whole text is stored at spill://c-1/k-3; read on with read_spill {"pointer": "spill://c-1/k-3", "offset": 2048}.]`;
const linesWith = (text: string, part: string) => text.split("\n").filter((line) => line.includes(part));
const section = (text: string, heading: string) => text.split(/^(?=#)/m).find((part) => part.includes(heading)) ?? "";

/** What the real tools do, over the files of the demo. */
const realTools: Tools = {
  read_file: ({ path = "" }) => preview(`OK: read ${path}\n${demo(path.replace("/workspace/", ""))}`),
  read_spill: ({ pointer = "" }) => `OK: ${pointer}\n${demo("gateway.log").slice(-4_000)}`,
  run_code: ({ code = "" }) => {
    const payment = /payment = "([^"]+)"/.exec(code)?.[1] ?? "?";
    const printed = linesWith(demo("gateway.log"), payment).map((line, index) => `${index}: ${line}`);
    return `OK: exit 0\n${JSON.stringify({ stdout: printed.join("\n") })}`;
  },
  grep: ({ pattern = "" }) => `OK: matches\n${linesWith(demo("gateway.log"), pattern).join("\n")}`,
  search_documents: ({ query = "" }) =>
    /webhook signature mismatch capture timeout/.test(query)
      ? `OK: 1 hit\n${section(demo("runbook.md"), "its webhook was dropped")}`
      : "OK: no hit",
};

async function solve(replaced: Tools = {}, offered = tools) {
  await using model = await startScriptedModel();
  const gateway = createOpenAiGateway({ baseUrl: model.baseUrl, apiKey: model.apiKey, model: "m" });
  const messages: Message[] = [
    { role: "system", text: "s" },
    { role: "user", text: task },
  ];
  const rounds: ToolCall[][] = [];
  for (let round = 0; round < 10; round++) {
    const request = { messages, tools: offered };
    const { decision } = await collectDecision(gateway.decide(request, { signal: AbortSignal.timeout(10_000) }));
    if (decision.kind === "final")
      return { answer: decision.text, rounds: rounds.map((calls) => calls.map((call) => call.name)) };
    if (decision.kind !== "tool_calls") expect.unreachable(decision.kind);
    rounds.push([...decision.toolCalls]);
    messages.push({ role: "assistant", text: decision.text, toolCalls: decision.toolCalls });
    for (const { callId, name, argumentsJson } of decision.toolCalls) {
      const run = replaced[name] ?? realTools[name];
      messages.push({ role: "tool", callId, text: run?.(JSON.parse(argumentsJson)) ?? "ERROR NO_SUCH_TOOL: no" });
    }
  }
  return expect.unreachable("the script must end");
}

test("reads, filters, looks up and answers with evidence that stands in the files", async () => {
  const { answer, rounds } = await solve();
  expect(rounds).toEqual([["read_file", "read_file", "read_file"], ["run_code", "read_spill"], ["search_documents"]]);
  const payment = /"payment_id": "(\w+)", "order_id": "ORD-2024-0117"/.exec(demo("payments.json"))?.[1] ?? "?";
  expect(answer).toContain(payment);
  const evidence = answer.slice(answer.indexOf("Evidence:"));
  for (const code of ["CAPTURE_TIMEOUT", "WEBHOOK_SIGNATURE_MISMATCH"]) {
    expect(evidence).toContain(linesWith(demo("gateway.log"), payment).find((line) => line.includes(code)));
  }
  expect(answer).toContain('"Capture timed out and its webhook was dropped"');
  expect(answer).toContain("Rule CAP-2: When a capture timed out");
});

test("follows the data: another payment id in the result leads to another search", async () => {
  const other: Tools = {
    read_file: ({ path = "" }) => realTools.read_file?.({ path }).replaceAll("pay_8c41f7d2", "pay_other000") ?? "",
  };
  expect((await solve(other)).answer).toMatch(/^I could not find a capture of pay_other000 that timed out/);
});

test("goes on with grep when code cannot run", async () => {
  const { answer, rounds } = await solve({ run_code: () => "ERROR SANDBOX_UNAVAILABLE: Docker does not answer." });
  expect(rounds[2]).toEqual(["grep"]);
  expect(answer).toContain("gateway.log (grep)");
});

test.each<readonly [string, Tools, string]>([
  ["no file", { read_file: () => "ERROR FILE_NOT_FOUND: no" }, "ORD-2024-0117 in /workspace/orders.json"],
  [
    "no payment",
    { read_file: ({ path = "" }) => (path.includes("payments") ? "OK\n[]" : (realTools.read_file?.({ path }) ?? "")) },
    "a payment of ORD-2024-0117",
  ],
  ["nonsense from the tools for the log", { run_code: () => "OK: 42", grep: () => "OK: 42" }, "a capture of pay_"],
  [
    "no dropped webhook",
    { run_code: (args) => realTools.run_code?.(args).replaceAll("dropped", "applied") ?? "" },
    "a dropped webhook of pay_",
  ],
  ["no rule", { search_documents: () => "OK: no hit" }, "a rule for a capture that timed out"],
])("says honestly what it could not find: %s", async (_, replaced, words) => {
  const { answer } = await solve(replaced);
  expect(answer).toMatch(/^I could not find /);
  expect(answer).toContain(words);
});

test("without tools, or without an order in the task, it does not invent anything", async () => {
  expect((await solve({}, [])).answer).toMatch(/^I could not find/);
});

test("the demo's log is long enough to be spilled, its case is in the middle, and nothing looks like a secret", () => {
  const log = demo("gateway.log");
  expect(log.length).toBeGreaterThan(40_000);
  expect(log.slice(0, 2_048) + log.slice(-4_000)).not.toContain("pay_8c41f7d2");
  for (const name of ["orders.json", "payments.json", "runbook.md"]) expect(demo(name).length).toBeLessThan(8_000);
  for (const name of ["orders.json", "payments.json", "gateway.log", "runbook.md"])
    expect(redact(demo(name)).count).toBe(0);
});
