import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { newId } from "@drover/kernel";
import type { Execution } from "@drover/proto/sandbox/v1/exec";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { startPostgres } from "@drover/testkit";

/** What a run of the benchmark may say. */
interface RunOptions {
  readonly processes?: number;
}

/** The running service, asked over gRPC as its callers do. */
export interface OurSandbox extends AsyncDisposable {
  /** Runs a program; gives its execution, after its output was read. */
  run(language: string, code: string, options?: RunOptions): Promise<Execution>;
  /** Python's hello; throws where the answer is another. */
  hello(options?: RunOptions): Promise<void>;
  /** Containers that wait for a run. */
  ready(): Promise<number>;
  /** Begins to look for the most memory anew; gives what the service's process has now, in bytes. */
  resetPeak(): Promise<number>;
  /** The most memory that the service's process had since, in bytes. */
  peakBytes(): Promise<number>;
  /** The containers' owner label begins with this. */
  readonly instance: string;
}

/** Starts the service in a process of its own over a database of its own. */
export async function startOurs(settings: Readonly<Record<string, string>>): Promise<OurSandbox> {
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await startPostgres());
  const keys = await generateIdentityKeys();
  const instance = `bench-${newId()}`;
  const child = spawn(process.execPath, [fileURLToPath(new URL("sandbox-service.ts", import.meta.url))], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: postgres.url,
      DROVER_LISTEN: "127.0.0.1:0",
      DROVER_ADMIN_LISTEN: "127.0.0.1:0",
      DROVER_LOG_LEVEL: "warn",
      DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
      DROVER_SANDBOX_INSTANCE: instance,
      ...settings,
    },
  });
  stack.defer(async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const [address = "", admin = ""] = String(line).trim().split(" ");
  const minter = await createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const transport = stack.use(createRpcTransport({ addresses: address, audience: "sandbox", minter }));
  const client = createClient(ExecService, transport);
  const contextValues = actingAs({ tenant: "bench", subject: "bench", scopes: ["exec:run"] });
  const run = async (language: string, code: string, { processes = 0 }: RunOptions = {}) => {
    let execution: Execution | undefined;
    for await (const { event } of client.run(
      { callId: newId(), language, code, limits: { processes } },
      { contextValues },
    )) {
      if (event.case === "ended") execution = event.value.execution;
    }
    if (execution === undefined) throw new Error("The stream ended without `ended`.");
    return execution;
  };
  const peakBytes = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
  };
  const parts = stack.move();
  return {
    run,
    instance,
    async hello(options) {
      const { exitCode, stdout } = await run("python", "print('hi')", options);
      const text = Buffer.from(stdout?.head ?? []).toString();
      if (exitCode !== 0 || text !== "hi\n") throw new Error(`Our run answered ${exitCode} ${JSON.stringify(text)}.`);
    },
    async ready() {
      const text = await (await fetch(`http://${admin}/metrics`)).text();
      return Number(/^drover_sandbox_pool_ready\S* (\S+)$/m.exec(text)?.[1] ?? 0);
    },
    async resetPeak() {
      // "5" resets the peak; see proc_pid_clear_refs(5).
      await writeFile(`/proc/${child.pid}/clear_refs`, "5");
      return await peakBytes();
    },
    peakBytes,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
