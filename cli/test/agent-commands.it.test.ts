import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectRouter } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { type Agent, AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { type SubmitTaskRequest, TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { afterAll, expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway, thrown } from "./fake-gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "drover-agents-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function served() {
  const seen: { readonly agents: Agent[]; submitted?: SubmitTaskRequest } = { agents: [] };
  const ended = { id: "0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e", state: TaskState.SUCCEEDED, answer: "done" };
  const serve = (router: ConnectRouter) => {
    router.service(AgentService, {
      putAgent({ agent, expectedVersion }) {
        if (expectedVersion === 7n) throw thrown(new DroverError("ABORTED", "The agent does not have version 7."));
        if (agent !== undefined) seen.agents.push({ ...agent, version: 1n });
        return { agent: seen.agents.at(-1) };
      },
      getAgent: () => ({ agent: seen.agents.at(-1) }),
      listAgents: () => ({ agents: seen.agents }),
      deleteAgent: () => ({}),
    });
    router.service(TaskService, {
      submitTask(request) {
        seen.submitted = request;
        return { task: ended };
      },
      async *watchTask() {
        yield { message: { case: "heartbeat" as const, value: { sequence: 0n } } };
      },
      getTask: () => ({ task: ended }),
    });
  };
  return { seen, serve };
}

async function run(words: readonly string[], gateway: { readonly url: string }) {
  const started = startDrover([...words, "--url", gateway.url]);
  const { code, stdout, stderr } = await started.ended;
  return { code, out: stdout.toString(), err: String(stderr) };
}

test("an agent is put from a file, shown as such a file, listed and deleted", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  expect((await run(["agents", "list"], gateway)).out).toBe("No agents. Add one: drover agents put FILE\n");
  const file = join(folder, "agent.json");
  const agent = { name: "reader", tools: ["read_file"], verifier: { jsonSchema: "{}" }, budgets: { maxTokens: "9" } };
  writeFileSync(file, JSON.stringify(agent));
  const put = await run(["agents", "put", file], gateway);
  expect(put.code).toBe(0);
  expect(JSON.parse(put.out)).toMatchObject({ ...agent, version: "1" });
  expect(seen.agents[0]?.budgets?.maxTokens).toBe(9n);
  expect((await run(["agents", "get", "reader"], gateway)).out).toBe(put.out);
  expect((await run(["agents", "list"], gateway)).out).toMatch(
    /^reader +version 1 · default model · 1 tool · verifier jsonSchema\n$/,
  );
  expect((await run(["agents", "delete", "reader"], gateway)).out).toContain("agent reader is deleted");
  writeFileSync(file, JSON.stringify({ ...agent, version: "7" }));
  expect(await run(["agents", "put", file], gateway)).toMatchObject({
    code: 1,
    err: expect.stringContaining("version 7"),
  });
  writeFileSync(file, '{"nam": 1}');
  expect(await run(["agents", "put", file], gateway)).toMatchObject({ code: 2, err: expect.stringContaining("nam") });
});

test("run names an agent and budgets", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  const budgets = ["--rounds", "4", "--budget-seconds", "90", "--budget-tokens", "5000", "--budget-cost", "0.25"];
  const { code } = await run(["run", "Go", "--agent", "reader", ...budgets, "--budget-calls", "3"], gateway);
  expect(code).toBe(0);
  expect(seen.submitted).toMatchObject({
    agent: "reader",
    maxRounds: 4,
    budgets: { maxWallMs: 90_000n, maxTokens: 5_000n, maxCostNanoUsd: 250_000_000n, maxToolCalls: 3 },
  });
  expect((await run(["run", "Go", "--budget-cost", "much"], gateway)).code).toBe(2);
});
