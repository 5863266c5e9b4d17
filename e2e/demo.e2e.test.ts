import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { freePorts } from "@drover/suite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

describe("the demo as a command", () => {
  let data: string;
  let listen: string;

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), "drover-demo-"));
    listen = `127.0.0.1:${(await freePorts(1))[0]}`;
  });
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  async function demo(more: Readonly<Record<string, string>> = {}, ...words: string[]) {
    const { OPENAI_BASE_URL: _, OPENAI_API_KEY: __, ...inherited } = process.env;
    const child = spawn(process.execPath, [join(root, "suite/src/demo.ts"), ...words], {
      env: { ...inherited, DROVER_DATA: data, DROVER_LISTEN: listen, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [[code], stdout, stderr] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  }

  test("without a Docker daemon it says so and still finds the answer, without the program", async () => {
    const { code, stdout, stderr } = await demo({ DOCKER_HOST: "unix:///nowhere/docker.sock" });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^sandbox {3}unavailable: No Docker daemon answers/m);
    expect(stdout).toMatch(/run_code python +SANDBOX_UNAVAILABLE/);
    expect(stdout).toContain("Rule CAP-2");
    expect(stdout).not.toContain('{"level"');
  });

  test("a model endpoint that is dead ends it with 1 and says what to check", async () => {
    const [port] = await freePorts(1);
    const { code, stdout } = await demo({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: "k" });
    expect(code).toBe(1);
    expect(stdout).toMatch(/cannot be reached.*\(MODEL_UNAVAILABLE\)[\s\S]*\nCheck OPENAI_BASE_URL/);
  });

  test("what cannot start is said in two sentences, without a stack", async () => {
    await using busy = createServer();
    busy.listen(0, "127.0.0.1");
    await once(busy, "listening");
    const address = busy.address();
    const taken = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    expect(await demo({ DROVER_LISTEN: taken })).toMatchObject({
      code: 1,
      stderr: `${taken} is in use.\nEnd what uses it, or choose another address with DROVER_LISTEN.\n`,
    });
    expect(await demo({ DROVER_DATA: "/proc/nope/data" })).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "/proc/nope cannot be used: it is not there and cannot be made.\nCorrect that, or choose another folder for the data with DROVER_DATA.\n",
    });
    const said = await demo({}, "staging");
    expect(said).toEqual({
      code: 1,
      stdout: "",
      stderr: 'There is no profile "staging".\nUse PROFILE=embedded or PROFILE=distributed.\n',
    });
  });

  test("every file of the demo is in the repository", () => {
    const kept = execFileSync("git", ["ls-files", "demo"], { cwd: root, encoding: "utf8" }).trim().split("\n");
    expect(kept.toSorted()).toEqual(
      readdirSync(join(root, "demo"))
        .map((name) => `demo/${name}`)
        .toSorted(),
    );
  });
});
