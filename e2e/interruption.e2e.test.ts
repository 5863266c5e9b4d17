import { connectNats, subjects } from "@drover/bus";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { runDemoJob } from "@drover/suite";
import { callsScript, paymentPendingScript, type Script } from "@drover/testkit/scripted-model";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { chromiumPath, quietFlags } from "./src/browser.ts";
import { connectClient, submit, untilEnded } from "./src/clients.ts";
import { containersOf, containersOfTask } from "./src/docker.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";
import { watch } from "./src/watch.ts";

describe("interruptions of the distributed profile", () => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite("distributed");
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  const demo = () => {
    const terminal = { write: () => {}, color: false, live: false, width: 100 };
    return runDemoJob({ ...suite, say: () => {}, terminal }, AbortSignal.timeout(100_000));
  };

  test("kill -9 of the orchestrator in the middle of the demo: the same answer, and the viewer shows it", async () => {
    const undisturbed = await demo();
    expect(undisturbed.state).toBe(TaskState.SUCCEEDED);

    let restarted: Promise<void> | undefined;
    const killing: Script = async (messages, tools, facts) => {
      if (restarted === undefined && messages.filter(({ role }) => role === "assistant").length === 2) {
        await suite.processes?.kill("orchestrator", "SIGKILL");
        restarted = suite.processes?.start("orchestrator");
      }
      return await paymentPendingScript(messages, tools, facts);
    };
    suite.model.use(killing);
    const survivor = await demo();
    await restarted;
    expect(restarted).toBeDefined();
    expect([survivor.state, survivor.attempt]).toEqual([TaskState.SUCCEEDED, 2]);
    expect(withoutIds(survivor.answer)).toBe(withoutIds(undisturbed.answer));
    expect(survivor.round).toBe(undisturbed.round);
    const events = await watch(suite, survivor.id);
    expect(events.map((event) => Number(event.sequence))).toEqual(events.map((_, i) => i + 1));
    await expectInterruptionIn(suite, survivor.id);
  });

  test("a cancel on the bus ends the container while the orchestrator is stopped", async () => {
    const sleep = {
      name: "run_code",
      arguments: { language: "python", code: "print('begun', flush=True)\nimport time\ntime.sleep(300)" },
    };
    suite.model.use(callsScript([sleep]));
    const task = await submit(suite.url, suite.apiKey, "Sleep.");
    await expect.poll(() => containersOfTask(task.id), { timeout: 20_000 }).toHaveLength(1);
    const exec = connectClient(ExecService, suite.url, suite.apiKey);
    const { tenantId } = await connectClient(AccountService, suite.url, suite.apiKey).whoAmI({});
    const pid = suite.processes?.pid("orchestrator") ?? expect.unreachable("no orchestrator");
    process.kill(pid, "SIGSTOP");
    try {
      await using bus = await connectNats({ url: inject("natsUrl"), name: "e2e", logger: { warn: () => undefined } });
      const told = performance.now();
      bus.publish(subjects.cancel(tenantId, task.id), new Uint8Array());
      await expect.poll(() => containersOfTask(task.id), { timeout: 20_000, interval: 50 }).toHaveLength(0);
      process.stdout.write(`container gone ${Math.round(performance.now() - told)} ms after the cancel was told\n`);
      const { executions } = await exec.listExecutions({ taskId: task.id });
      expect(executions.map((execution) => execution.killedBy)).toEqual(["cancel"]);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await connectClient(TaskService, suite.url, suite.apiKey).cancelTask({ taskId: task.id, reason: "enough" });
    expect((await untilEnded(suite.url, suite.apiKey, task.id)).state).toBe(TaskState.CANCELLED);
    await expect.poll(() => containersOf(suite), { timeout: 20_000 }).toHaveLength(0);
  });
});

/** Opens the trace as a person would and reads that a worker took the task up again. */
async function expectInterruptionIn(suite: SuiteUnderTest, taskId: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: quietFlags });
  try {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(`${suite.url}/t/${taskId}`);
    await page.getByTestId("sign-in-key").fill(suite.apiKey);
    await page.getByTestId("sign-in-submit").click();
    await page.getByTestId("span-row").first().click();
    await expect
      .poll(() => page.getByTestId("event").filter({ hasText: "A worker takes the task up again." }).count())
      .toBe(1);
    await expect.poll(() => page.getByTestId("state").textContent()).toMatch(/succeeded/i);
    // What the killed process had begun and nobody speaks for is closed half a minute after the task's end.
    const running = () => page.locator('[data-running="true"]').count();
    await expect.poll(running, { timeout: 60_000 }).toBe(0);
  } finally {
    await browser.close();
  }
}

/** An answer without what differs between runs: durations and ids. */
function withoutIds(answer: string): string {
  return answer.replaceAll(/\d+(\.\d+)? ?(ms|s)\b/g, "…").replaceAll(/[0-9a-f-]{36}/g, "…");
}
