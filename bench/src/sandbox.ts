import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { percentile, print, type ResultRow, report, row, rowAgainst } from "./run.ts";
import { startOurs } from "./sandbox-ours.ts";
import { peerHello as dockerRun } from "./sandbox-peer.ts";

/**
 * Python's hello through the service (a gRPC call, the records in Postgres and a stream of events included) against
 * `docker run --rm` with the same flags on the same image. The two take turns, and each turn begins when the machine
 * is quiet and the pool full, so that neither pays for the other. What the pool hides is in the rows of sustained load:
 * their time ends when the pool is as full as it was at their begin, so no container in them was a present.
 */
const rounds = Number(process.env.ROUNDS ?? 30);
const only = process.env.ROWS?.split(",");
const burst = 16;
const execute = promisify(execFile);
const rows: ResultRow[] = [];
const peer = { name: "docker run --rm", better: "more" } as const;

await using ours = await startOurs({
  DROVER_SANDBOX_POOL_MIN: `python=${burst}`,
  DROVER_SANDBOX_POOL_MAX: String(burst),
  DROVER_SANDBOX_HARD_OUTPUT: "2GiB",
});
let runs = 1;
const { image } = await ours.run("python", "print('hi')");
const peerHello = () => dockerRun(image);

await part("warm", () => latency("warm", hello, "<= 0.25", "<= 0.6"));
await part("cold", () => latency("cold", () => hello({ processes: 101 }), "<= 0.9", null));
await part("burst", burstAfterIdle);
for (const callers of [1, 8, 32]) await part("sustained", () => sustained(callers));
await part("go", goHello);
await part("output", greatOutput);
await part("idle", idleCost);
await part("left", nothingLeft);
report("sandbox", `ours against docker run with the same flags, ${rounds} of each in turns`, rows);

async function part(name: string, measure: () => Promise<void>): Promise<void> {
  if (only?.includes(name) === false) return;
  print(`${name} …`);
  await measure();
}

async function hello(options?: { readonly processes: number }): Promise<void> {
  runs++;
  await ours.hello(options);
}

async function latency(kind: string, mine: () => Promise<void>, p50: string, p99: string | null): Promise<void> {
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let round = -3; round < rounds; round++) {
    await quiet();
    const first = await timed(mine);
    await quiet();
    const second = await timed(peerHello);
    if (round < 0) continue;
    times.ours.push(first);
    times.peer.push(second);
  }
  for (const [name, share, goal] of [
    ["p50", 0.5, p50],
    ["p99", 0.99, p99],
  ] as const) {
    const value = percentile(times.peer, share);
    rows.push(rowAgainst(`${kind} run, ${name}`, "ms", percentile(times.ours, share), { ...peer, value }, goal));
  }
}

async function burstAfterIdle(): Promise<void> {
  const p95 = { ours: [] as number[], peer: [] as number[] };
  for (let round = 0; round < 3; round++) {
    await quiet();
    p95.ours.push(percentile(await atOnce(hello), 0.95));
    await quiet();
    p95.peer.push(percentile(await atOnce(peerHello), 0.95));
  }
  const value = percentile(p95.peer, 0.5);
  rows.push(
    rowAgainst(`burst of ${burst} after idle, p95`, "ms", percentile(p95.ours, 0.5), { ...peer, value }, "<= 0.5"),
  );
}

async function atOnce(work: () => Promise<void>): Promise<readonly number[]> {
  return await Promise.all(Array.from({ length: burst }, () => timed(() => work())));
}

async function sustained(callers: number): Promise<void> {
  const count = Math.max(48, callers * 3);
  await quiet();
  const mine = await perSecond(callers, count, hello, poolFull);
  await quiet();
  const value = await perSecond(callers, count, peerHello);
  rows.push(rowAgainst(`sustained, ${callers} callers`, "runs/s", mine, { ...peer, value }, ">= 1.15"));
}

/** Runs per second, the time until `settled` included. */
async function perSecond(
  callers: number,
  count: number,
  work: () => Promise<void>,
  settled: () => Promise<void> = async () => undefined,
): Promise<number> {
  let left = count;
  const took = await timed(async () => {
    const loop = async () => {
      while (left-- > 0) await work();
    };
    await Promise.all(Array.from({ length: callers }, loop));
    await settled();
  });
  return (count * 1000) / took;
}

async function goHello(): Promise<void> {
  const code = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hi") }\n';
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    await quiet();
    times.push(
      await timed(async () => {
        runs++;
        const { exitCode } = await ours.run("go", code);
        if (exitCode !== 0) throw new Error(`Go's hello exited with ${exitCode}.`);
      }),
    );
  }
  rows.push(row("Go hello, compiled and run, p50", "ms", percentile(times, 0.5), "<= 1500"));
}

async function greatOutput(): Promise<void> {
  await quiet();
  const before = await ours.resetPeak();
  const { stdout } = await ours.run("python", "import os\nb = b'x' * 65536\nfor _ in range(16384): os.write(1, b)");
  if (stdout?.bytesSeen !== 1024n ** 3n) throw new Error(`Of 1 GiB ${stdout?.bytesSeen} bytes were seen.`);
  const grown = (await ours.peakBytes()) - before;
  rows.push(row("1 GiB of output, the service's memory grows by", "MB", grown / 1e6, "<= 32"));
}

async function idleCost(): Promise<void> {
  await quiet();
  const [id = ""] = await containers();
  const { stdout } = await execute("docker", ["stats", "--no-stream", "--format", "{{.MemUsage}}", id]);
  const [, value = "", unit = ""] = /^([\d.]+)(KiB|MiB)/.exec(stdout) ?? [];
  const megabytes = (Number(value) * (unit === "KiB" ? 1024 : 1024 ** 2)) / 1e6;
  rows.push(row("a container that waits holds", "MB", megabytes));
}

async function nothingLeft(): Promise<void> {
  await perSecond(8, Math.max(0, 500 - runs), hello);
  let left = Number.POSITIVE_INFINITY;
  for (let tries = 0; left !== 0 && tries < 100; tries++) {
    await sleep(100);
    left = (await containers()).length - (await ours.ready());
  }
  rows.push(row(`containers left by ${runs} runs`, "containers", Math.abs(left), "<= 0"));
}

async function containers(): Promise<readonly string[]> {
  const format = '{{.ID}} {{.Label "drover.owner"}}';
  const filter = "label=drover.service=sandbox";
  const { stdout } = await execute("docker", ["ps", "-a", "--filter", filter, "--format", format]);
  const lines = stdout.split("\n").filter((line) => line.includes(` ${ours.instance}/`));
  return lines.map((line) => line.split(" ")[0] ?? "");
}

/** Resolves when the pool is full and nothing is being removed. */
async function quiet(): Promise<void> {
  await poolFull();
  await sleep(200);
}

async function poolFull(): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    if ((await ours.ready()) >= burst) return;
    await sleep(25);
  }
  throw new Error("The pool did not fill.");
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
