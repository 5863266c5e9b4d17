import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { runDemoJob } from "@drover/suite";
import { callsScript } from "@drover/testkit/scripted-model";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, quietFlags } from "./src/browser.ts";
import { connectClient, submit } from "./src/clients.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const pictures = resolve(import.meta.dirname, "../.reports");

describe("the viewer in a real browser", () => {
  let suite: SuiteUnderTest;
  let browser: Browser;
  let page: Page;
  let task: Task;
  const complaints: string[] = [];

  beforeAll(async () => {
    suite = await startSuite("embedded");
    const terminal = { write: () => {}, color: false, live: false, width: 100 };
    task = await runDemoJob({ ...suite, say: () => {}, terminal }, AbortSignal.timeout(60_000));
    browser = await chromium.launch({ executablePath: chromiumPath(), args: quietFlags });
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
  });
  afterAll(async () => {
    await browser?.close();
    await suite?.[Symbol.asyncDispose]();
  });

  const byId = (id: string) => page.getByTestId(id);
  const spanRow = (name: string) => byId("span-row").filter({ hasText: name });

  test("a stranger is asked for a key, a wrong one is refused, the right one opens the demo's trace", async () => {
    await page.goto(`${suite.url}/t/${task.id}`);
    await byId("sign-in-key").fill("drv_wrong");
    await byId("sign-in-submit").click();
    await expect.poll(() => byId("sign-in-problem").textContent()).toMatch(/key/i);
    complaints.length = 0;
    await byId("sign-in-key").fill(suite.apiKey);
    await byId("sign-in-submit").click();
    await expect.poll(() => byId("trace-name").textContent(), { timeout: 10_000 }).toContain("ORD-2024-0117");
    const cookies = await page.context().cookies();
    expect(cookies).toEqual([expect.objectContaining({ httpOnly: true, sameSite: "Strict" })]);
  });

  test("the tree shows what the demo did: rounds, calls, durations, tokens", async () => {
    await expect.poll(() => byId("state").textContent(), { timeout: 15_000 }).toMatch(/succeeded/i);
    await expect.poll(() => spanRow("read_file").count()).toBe(3);
    for (const name of ["run_code", "read_spill", "search_documents"]) expect(await spanRow(name).count()).toBe(1);
    expect(await byId("round-row").count()).toBe(4);
    expect(await spanRow("build context").count()).toBe(4);
    expect(await spanRow("read_file").first().textContent()).toContain("/workspace/orders.json");
    expect(await spanRow("run_code").getAttribute("data-kind")).toBe("tool");
    expect(await spanRow("run_code").textContent()).toMatch(/\d+(\.\d+)? (ms|s)/);
    expect(await byId("tokens").textContent()).toMatch(/[\d,]{4,} in .*\d+ out/);
    expect(
      await byId("span-row")
        .filter({ has: page.locator('[data-running="true"]') })
        .count(),
    ).toBe(0);
  });

  test("a call's input and output are there, and how much of it the model saw", async () => {
    await spanRow("run_code").click();
    await expect.poll(() => byId("details-name").textContent()).toContain("run_code");
    await byId("tab-input").click();
    await expect.poll(() => byId("payload-input").textContent()).toContain("pay_8c41f7d2");
    await byId("tab-output").click();
    await expect.poll(() => byId("payload-output").textContent()).toContain("CAPTURE_TIMEOUT");
    await spanRow("gateway.log").or(spanRow("read_file").nth(2)).first().click();
    await byId("tab-overview").click();
    await expect.poll(() => byId("facts").textContent()).toMatch(/2,048 of 40,\d{3} characters/);
    const pointer = byId("facts").getByText(/kept as spill \w{4}\/\w{4}$/);
    expect(await pointer.getAttribute("title")).toMatch(/^spill:\/\//);
    expect(page.url()).toContain("#span=");
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: resolve(pictures, "viewer.png") });
  });

  test("keys move, and a link opens the same span again", async () => {
    await spanRow("run_code").click();
    const link = page.url();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.url()).not.toBe(link);
    await page.goto(link);
    await page.reload();
    await expect.poll(() => byId("details-name").textContent()).toContain("run_code");
    await byId("details-close").click();
    await expect.poll(() => byId("details-empty").count()).toBe(1);
  });

  test("a task that is not there is told apart from a server that is away", async () => {
    await page.goto(`${suite.url}/t/01a22e97-ca91-7000-b111-13b986e496e7`);
    await expect.poll(() => byId("notice-broken").textContent()).toContain("no task with this id");
    complaints.length = 0;
  });

  test("a running task is live: rows appear and end without a reload, and it can be cancelled", async () => {
    const sleep = { name: "run_code", arguments: { language: "python", code: "import time\ntime.sleep(20)" } };
    suite.model.use(callsScript([sleep]));
    const running = await submit(suite.url, suite.apiKey, "Sleep for me.");
    await page.goto(`${suite.url}/t/${running.id}`);
    await expect.poll(() => page.locator('[data-running="true"]').count(), { timeout: 15_000 }).toBeGreaterThan(0);
    await byId("cancel").click();
    await expect.poll(() => byId("state").textContent(), { timeout: 15_000 }).toMatch(/cancelled/i);
    await expect.poll(() => page.locator('[data-running="true"]').count(), { timeout: 15_000 }).toBe(0);
    const { task: ended } = await connectClient(TaskService, suite.url, suite.apiKey).getTask({ taskId: running.id });
    expect(ended?.cancelRequested).toBe(true);
  });

  test("the list shows both tasks, and the browser had nothing to complain about", async () => {
    await page.goto(suite.url);
    const titled = (title: string) => byId("trace-row").filter({ hasText: title }).count();
    await expect.poll(() => titled("ORD-2024-0117"), { timeout: 10_000 }).toBe(1);
    expect(await titled("Sleep for me.")).toBe(1);
    expect(complaints).toEqual([]);
  });
});
