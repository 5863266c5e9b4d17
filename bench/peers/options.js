import pg from "pg";

/** What the process is told, see ../src/durable-run.ts. */
export const options = JSON.parse(process.env.BENCH_OPTIONS ?? "");

/** Waits like a model, and says how long it really was. */
export async function thinkFor(ms) {
  const begun = performance.now();
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  return performance.now() - begun;
}

/** Measures every run, then the WAL of one long task, and prints the answer. */
export async function answer(runTasks) {
  const runs = [];
  for (const run of options.runs) {
    const begun = performance.now();
    const modelTotalMs = await runTasks(run, async () => undefined);
    runs.push({ ...run, wallMs: performance.now() - begun, modelTotalMs });
  }
  const wal = [];
  if (options.walRounds > 0) {
    const client = new pg.Client({ connectionString: options.url });
    await client.connect();
    await runTasks({ tasks: 1, rounds: options.walRounds, modelMs: 0 }, async () => {
      const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes");
      wal.push(Number(rows[0].bytes));
    });
    await client.end();
  }
  process.stdout.write(`${JSON.stringify({ runs, wal })}\n`);
}
