import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@drover/postgres";
import { createIdentityMinter, generateIdentityKeys, identityHeader } from "@drover/rpc";
import type { Measured } from "./gateway-client.ts";
import { percentile, print, report, row, rowAgainst } from "./run.ts";

/** The same 200-byte unary call of a plain grpc-js client: through the gateway, and straight to the service. */
const variants = ["gateway", "direct"] as const;
type Variant = (typeof variants)[number];

const callers = 32;
const warmUp = 4000;
const calls = 8000;
const rounds = 5;

await using started = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "drover-bench-"));
started.defer(() => rm(folder, { recursive: true, force: true }));
const keys = await generateIdentityKeys();
const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
const apiKey = `drv_${randomBytes(6).toString("hex")}_${randomBytes(32).toString("base64url")}`;

const upstream = start("gateway-upstream.ts", [keys.publicKeys]);
const upstreamAddress = await answerOf<string>(upstream);
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres") });
started.use(postgres);
const edge = start("gateway-edge.ts", [], {
  DROVER_LISTEN: "127.0.0.1:0",
  DROVER_ADMIN_LISTEN: "127.0.0.1:0",
  DROVER_LOG_LEVEL: "silent",
  DATABASE_URL: postgres.url,
  DATABASE_POOL_MAX: "2",
  DROVER_IDENTITY_PRIVATE_KEY: keys.privateKey,
  DROVER_BOOTSTRAP_KEY: apiKey,
  ORCHESTRATOR_ADDRESS: upstreamAddress,
});
const edgeAddress = await answerOf<string>(edge);

const measured = new Map<Variant, Measured[]>(variants.map((variant) => [variant, []]));
let edgeCpuMicros = 0;
for (let round = 1; round <= rounds; round++) {
  for (const variant of variants) {
    const before = await answerOf<NodeJS.CpuUsage>(edge, "cpu");
    const result = await measure(variant);
    const after = await answerOf<NodeJS.CpuUsage>(edge, "cpu");
    if (variant === "gateway") edgeCpuMicros += after.user + after.system - before.user - before.system;
    measured.get(variant)?.push(result);
    print(`round ${round}  ${variant.padEnd(8)} ${Math.round(calls / result.seconds)} calls/s`);
  }
}

function start(file: string, parameters: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = fork(join(import.meta.dirname, file), [...parameters], {
    serialization: "advanced",
    env: { ...process.env, ...environment },
  });
  started.defer(() => void child.kill());
  return child;
}

async function answerOf<T>(child: ChildProcess, question?: string): Promise<T> {
  if (question !== undefined) child.send(question);
  const waiting = new AbortController();
  const { signal } = waiting;
  const answer = await Promise.race([
    once(child, "message", { signal }),
    once(child, "exit", { signal }).then(() => undefined),
  ]);
  waiting.abort();
  if (answer === undefined) throw new Error("A process of the benchmark ended early.");
  return answer[0];
}

async function measure(variant: Variant): Promise<Measured> {
  const caller = { tenant: "default", subject: "bench", scopes: ["tasks:read"] };
  const target =
    variant === "gateway"
      ? [edgeAddress, "authorization", `Bearer ${apiKey}`]
      : [upstreamAddress, identityHeader, await minter.mint(caller, "orchestrator")];
  const client = start("gateway-client.ts", [...target, ...[callers, warmUp, calls].map(String)]);
  await answerOf(client);
  return await answerOf<Measured>(client, "go");
}

/** The median over the rounds, so that one disturbed round does not decide. */
function median(variant: Variant, of: (round: Measured) => number): number {
  return percentile((measured.get(variant) ?? []).map(of), 0.5);
}

function against(
  metric: string,
  unit: string,
  of: (round: Measured) => number,
  better: "more" | "less",
  goal?: string,
) {
  const peer = { name: "direct grpc-js call", value: median("direct", of), better };
  return rowAgainst(metric, unit, median("gateway", of), peer, goal ?? null);
}

report(
  "gateway",
  `200-byte unary of a grpc-js client, ${callers} callers, n = ${calls} after ${warmUp}, median of ${rounds} rounds`,
  [
    against("calls per second", "1/s", (round) => calls / round.seconds, "more", ">= 0.5"),
    against("latency p50", "ms", (round) => percentile(round.latenciesMs, 0.5), "less"),
    against("latency p99", "ms", (round) => percentile(round.latenciesMs, 0.99), "less"),
    row("CPU of the gateway per call, warm-up included", "µs", edgeCpuMicros / rounds / (calls + warmUp)),
  ],
);
