import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { generateIdentityKeys } from "@drover/rpc";
import type { Measured } from "./rpc-echo-client.ts";
import { percentile, print, report, row, rowAgainst } from "./run.ts";

/** Three ways to make the same 200-byte unary call; ours verifies an identity on each. */
const variants = ["ours", "connect-grpc", "connect"] as const;
type Variant = (typeof variants)[number];

const callers = 32;
const warmUp = 4000;
const calls = 8000;
const rounds = 3;

interface Round extends Measured {
  readonly serverCpuMicros: number;
}

const keys = await generateIdentityKeys();

async function answerOf<T>(child: ChildProcess, question?: string): Promise<T> {
  if (question !== undefined) child.send(question);
  const answer = await Promise.race([once(child, "message"), once(child, "exit").then(() => undefined)]);
  if (answer === undefined) throw new Error("A process of the benchmark ended early.");
  return answer[0];
}

async function measure(variant: Variant): Promise<Round> {
  const server = fork(join(import.meta.dirname, "rpc-echo-server.ts"), [variant, keys.publicKeys]);
  try {
    const address = await answerOf<string>(server);
    const settings = [variant, address, keys.privateKey, callers, warmUp, calls].map(String);
    const client = fork(join(import.meta.dirname, "rpc-echo-client.ts"), settings, { serialization: "advanced" });
    await answerOf(client);
    const before = await answerOf<NodeJS.CpuUsage>(server, "cpu");
    const measured = await answerOf<Measured>(client, "go");
    const after = await answerOf<NodeJS.CpuUsage>(server, "cpu");
    return { ...measured, serverCpuMicros: after.user + after.system - before.user - before.system };
  } finally {
    server.kill();
  }
}

const measured = new Map<Variant, Round[]>(variants.map((variant) => [variant, []]));
for (let round = 1; round <= rounds; round++) {
  for (const variant of variants) {
    const result = await measure(variant);
    measured.get(variant)?.push(result);
    print(`round ${round}  ${variant.padEnd(14)} ${Math.round(calls / result.seconds)} calls/s`);
  }
}

/** The median over the rounds, so that one disturbed round does not decide. */
function median(variant: Variant, of: (round: Round) => number): number {
  return percentile((measured.get(variant) ?? []).map(of), 0.5);
}

const rate = (round: Round) => calls / round.seconds;
const p50 = (round: Round) => percentile(round.latenciesMs, 0.5);
const p99 = (round: Round) => percentile(round.latenciesMs, 0.99);
const cpu = (round: Round) => (round.cpuMicros + round.serverCpuMicros) / calls;
const serverCpu = (round: Round) => round.serverCpuMicros / calls;

function against(metric: string, unit: string, of: (round: Round) => number, better: "more" | "less", goal?: string) {
  const peers = [
    ["connect-grpc", "connect-node as gRPC"],
    ["connect", "connect-node, own protocol"],
  ] as const;
  return peers.map(([variant, name]) =>
    rowAgainst(
      metric,
      unit,
      median("ours", of),
      { name, value: median(variant, of), better },
      variant === "connect-grpc" ? (goal ?? null) : null,
    ),
  );
}

report(
  "rpc-echo",
  `200-byte unary, ${callers} callers, n = ${calls} after ${warmUp}, median of ${rounds} rounds, identity verified`,
  [
    ...against("calls per second", "1/s", rate, "more", ">= 2"),
    ...against("latency p50", "ms", p50, "less"),
    ...against("latency p99", "ms", p99, "less"),
    ...against("CPU per call, client and server", "µs", cpu, "less"),
    row("CPU per call, server", "µs", median("ours", serverCpu)),
  ],
);
