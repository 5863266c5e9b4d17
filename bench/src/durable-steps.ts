import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { startPostgres } from "@drover/testkit";
import pg from "pg";
import type { DurableOptions, DurableRun, DurableSide } from "./durable-run.ts";
import { percentile, print, type ResultRow, report, row, rowAgainst } from "./run.ts";

/**
 * An agent whose model asks for two tools that do nothing, in every round, on four sides: our worker, LangGraph.js with
 * its PostgresSaver and durability "sync", DBOS, and a bare writer of our rows. Each side is a process of its own, on a
 * database of its own of one Postgres with fsync, with as many connections; every turn and every call is durable before
 * work goes on.
 */
const execute = promisify(execFile);
const folder = import.meta.dirname;
const sides = {
  ours: join(folder, "durable-ours.ts"),
  raw: join(folder, "durable-raw.ts"),
  langgraph: join(folder, "..", "peers", "langgraph.js"),
  dbos: join(folder, "..", "peers", "dbos.js"),
} as const;
type Side = keyof typeof sides;
const names = { langgraph: "LangGraph.js + PostgresSaver, sync", dbos: "DBOS" } as const;
const connections = 20;
const tasks = [1, 10, 20] as const;
const rounds = 40;
const repeats = 3;
const walRounds = 200;
/** Every connection has planned its statements after it. */
const warmUp: DurableRun = { tasks: connections, rounds: 10, modelMs: 0 };

await using postgres = await startPostgres({ durable: true });

/** The database of a side; the bare writer copies the tables of ours. */
function databaseOf(side: Side): string {
  const url = new URL(postgres.url);
  url.pathname = side === "raw" ? "/ours" : `/${side}`;
  return url.href;
}

async function createDatabases(): Promise<void> {
  const admin = new pg.Client({ connectionString: postgres.url });
  for (let tries = 0; ; tries++) {
    try {
      await admin.connect();
      break;
    } catch (error) {
      if (tries >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
  for (const name of ["ours", "langgraph", "dbos"]) await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
}

async function measure(side: Side, runs: readonly DurableRun[], rounds_ = 0): Promise<DurableSide> {
  const options: DurableOptions = { url: databaseOf(side), connections, runs: [warmUp, ...runs], walRounds: rounds_ };
  const env = { ...process.env, BENCH_OPTIONS: JSON.stringify(options) };
  const { stdout } = await execute(process.execPath, [sides[side]], { env, maxBuffer: 64 * 1024 ** 2 });
  const answer: DurableSide = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  return { ...answer, runs: answer.runs.slice(1) };
}

/** The median of `repeats` runs of each number of tasks; the sides take turns, so that a slow minute meets all. */
async function figures(order: readonly Side[], modelMs: number, figure: (run: DurableSide["runs"][number]) => number) {
  const seen = new Map<string, number[]>();
  for (let turn = 0; turn < repeats; turn++) {
    for (const side of order) {
      const { runs } = await measure(
        side,
        tasks.map((count) => ({ tasks: count, rounds, modelMs })),
      );
      for (const run of runs) {
        const key = `${side} ${run.tasks}`;
        seen.set(key, [...(seen.get(key) ?? []), figure(run)]);
      }
    }
    print(`  durable-steps: turn ${turn + 1} of ${repeats} with a model of ${modelMs} ms done`);
  }
  return (side: Side, count: number) => percentile(seen.get(`${side} ${count}`) ?? [], 0.5);
}

const overheadOf = (run: DurableSide["runs"][number]) => (run.wallMs - run.modelTotalMs / run.tasks) / run.rounds;
const commitsOf = (run: DurableSide["runs"][number]) => (3 * run.rounds * run.tasks * 1_000) / run.wallMs;

/** Bytes of WAL of each round. */
function bytesOf({ wal }: DurableSide): number[] {
  return wal.slice(1).map((mark, i) => mark - (wal[i] ?? 0));
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** What the last rounds write, in relation to what the first ones did. */
function growthOf(side: DurableSide): number {
  const bytes = bytesOf(side);
  return mean(bytes.slice(-50)) / mean(bytes.slice(0, 50));
}

await createDatabases();
const overhead = await figures(["ours", "langgraph", "dbos"], 20, overheadOf);
const commits = await figures(["ours", "raw"], 0, commitsOf);
const wal = { ours: await measure("ours", [], walRounds), langgraph: await measure("langgraph", [], walRounds) };

const rows: ResultRow[] = [];
for (const count of tasks) {
  const metric = `overhead per round, ${count} tasks, model 20 ms`;
  const ours = overhead("ours", count);
  const against = (side: "langgraph" | "dbos", goal: string) =>
    rowAgainst(metric, "ms", ours, { name: names[side], value: overhead(side, count), better: "less" }, goal);
  rows.push(against("langgraph", ">= 3"), against("dbos", ">= 1.5"));
}
for (const count of tasks) {
  const peer = { name: "bare prepared statement per commit", value: commits("raw", count), better: "more" } as const;
  rows.push(rowAgainst(`commits, ${count} tasks, model 0 ms`, "commits/s", commits("ours", count), peer, ">= 0.6"));
}
const last = (side: DurableSide) => mean(bytesOf(side).slice(-50));
const langgraph = { name: names.langgraph, value: last(wal.langgraph), better: "less" } as const;
rows.push(rowAgainst("WAL of a round, rounds 151 to 200", "bytes", last(wal.ours), langgraph));
rows.push(row("WAL of a round, 151 to 200 over 1 to 50", "x", growthOf(wal.ours), "<= 1.1"));
rows.push(row("the same of LangGraph.js", "x", growthOf(wal.langgraph)));
report("durable-steps", `${rounds} rounds of two tools a task, median of ${repeats} runs`, rows);
