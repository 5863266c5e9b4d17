import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { callsScript, echoScript, paymentPendingScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { containersOf } from "./src/docker.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const root = resolve(import.meta.dirname, "..");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function node(
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
  stdin = "",
): Promise<Ended> {
  return new Promise((done) => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...environment };
    const child = execFile(
      process.execPath,
      [resolve(root, program), ...args],
      { env, cwd: root },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
}

describe("the command line against the running suite", () => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite("distributed", { script: echoScript, environment: { DROVER_SANDBOX_POOL_MAX: "2" } });
  });
  afterAll(async () => {
    await suite?.[Symbol.asyncDispose]();
    expect(containersOf(suite)).toEqual([]);
  });

  const drover = (args: readonly string[], stdin = "") =>
    node("cli/src/main.ts", args, { DROVER_URL: suite.url, DROVER_API_KEY: suite.apiKey }, stdin);
  const json = async (args: readonly string[], stdin = "") => {
    const { stdout, stderr, code } = await drover([...args, "--json"], stdin);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout);
  };

  test("doctor finds everything well", async () => {
    const { code, stdout } = await drover(["doctor"]);
    expect(stdout).toMatch(/gateway/);
    expect(code).toBe(0);
  });

  test("exec runs standard input and passes output and exit code through", async () => {
    const ran = await drover(["exec", "--lang", "python", "-"], "import sys\nprint(6 * 7)\nsys.exit(3)");
    expect(ran).toMatchObject({ code: 3, stdout: "42\n" });
    const document = await json(["exec", "--lang", "bash", "-"], "echo out; echo err >&2");
    expect(JSON.stringify(document)).toContain(Buffer.from("out\n").toString("base64"));
  });

  test("documents are put, found, listed and removed", async () => {
    await json(["doc", "put", "demo/runbook.md"]);
    const found = await json(["doc", "search", "capture timed out and webhook dropped"]);
    expect(JSON.stringify(found)).toContain("CAP-2");
    const [document] = (await json(["doc", "list"])).documents;
    await json(["doc", "rm", document.id]);
    expect((await json(["doc", "list"])).documents).toEqual([]);
  });

  test("run uploads files, tail and trace show the same task again", async () => {
    suite.model.use(callsScript([{ name: "read_file", arguments: { path: "/workspace/orders.json" } }]));
    const ran = await json(["run", "Which orders are there?", "--file", "demo/orders.json"]);
    expect(ran.answer).toContain("ORD-2024-0117");
    const tailed = await json(["tail", ran.task.id]);
    expect(tailed.events).toEqual(ran.events);
    const { stdout, code } = await drover(["trace", "show", ran.task.id]);
    expect(code).toBe(0);
    expect(stdout).toContain("read_file");
    const plain = await drover(["run", "Again.", "--file", "demo/orders.json"]);
    expect(plain.stdout).toMatch(/succeeded · 2 rounds · [\d,]+ in, [\d,]+ out/);
    expect(plain.stdout).not.toContain("\u001b");
  });

  test("what is wrong is told in words and by exit code", async () => {
    expect((await drover(["cancel", "no-such-task"])).code).not.toBe(0);
    expect((await drover(["frobnicate"])).code).toBe(2);
    const wrongKey = await node("cli/src/main.ts", ["doc", "list"], {
      DROVER_URL: suite.url,
      DROVER_API_KEY: "drv_wrong",
    });
    expect(wrongKey.code).toBe(4);
    const nobody = await node("cli/src/main.ts", ["doc", "list"], {
      DROVER_URL: "http://127.0.0.1:9",
      DROVER_API_KEY: "x",
    });
    expect(nobody).toMatchObject({ code: 3, stderr: expect.stringContaining("127.0.0.1:9") });
  });

  test("the demo's task is answered here as on the embedded profile", async () => {
    suite.model.use(paymentPendingScript);
    const files = ["orders.json", "payments.json", "gateway.log"].flatMap((file) => ["--file", `demo/${file}`]);
    await json(["doc", "put", "demo/runbook.md", "--collection", "demo"]);
    const prompt = "Help me find out why order ORD-2024-0117 is stuck in payment pending";
    const { answer } = await json(["run", prompt, "--collection", "demo", ...files]);
    expect(answer).toMatch(/timed out.*webhook.*dropped/s);
    expect(answer).toContain("CAP-2");
  });
});
