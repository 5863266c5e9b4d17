import { newId } from "@drover/kernel";
import pg from "pg";
import { type DurableRun, type DurableSide, readOptions } from "./durable-run.ts";

/**
 * The rows of our rounds, written with one prepared statement per commit into copies of the tables that have the same
 * indexes, but neither row-level security nor foreign keys nor triggers, and with no loop around them.
 */
const options = readOptions();
const tables = ["task", "step", "tool_call", "event"] as const;
const tenant = "bench";
const hash = "a".repeat(64);
const preview = '{"round":1,"n":1}';
const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: null };

const pool = new pg.Pool({ connectionString: options.url, max: options.connections });
await pool.query("DROP SCHEMA IF EXISTS raw CASCADE; CREATE SCHEMA raw");
for (const table of tables) await pool.query(`CREATE TABLE raw.${table} (LIKE orchestrator.${table} INCLUDING ALL)`);

const touch = `UPDATE raw.task SET version = version + 1, last_sequence = $3, round = $4, held_since = now()
  WHERE tenant_id = $1 AND id = $2 AND lease_epoch = 1`;
const events = (place: number) => `INSERT INTO raw.event (tenant_id, task_id, sequence, round, body)
  SELECT $1, $2, $3::bigint - n + 1, $4::int, b FROM unnest($${place}::jsonb[]) WITH ORDINALITY AS e(b, n)`;
const statements = {
  turn: `WITH s AS (INSERT INTO raw.step (tenant_id, task_id, seq, round, kind, body, epoch)
      VALUES ($1, $2, $5, $4, 'turn', $6, 1)),
    c AS (INSERT INTO raw.tool_call (tenant_id, task_id, call_id, step_seq, ordinal, provider_call_id, tool, arguments,
        arguments_hash, arguments_preview, state, epoch)
      SELECT $1, $2, id, $5, n, 'call', 'noop', '${preview}', '${hash}', '${preview}', 'PROPOSED', 1
      FROM unnest($7::uuid[]) WITH ORDINALITY AS x(id, n)),
    e AS (${events(8)}) ${touch}`,
  dispatched: `WITH c AS (UPDATE raw.tool_call SET state = 'DISPATCHED', dispatched_at = now()
      WHERE tenant_id = $1 AND call_id = ANY($5::uuid[])) ${touch}`,
  results: `WITH c AS (UPDATE raw.tool_call SET state = 'SUCCEEDED', ended_at = now(), shown = 'OK: done',
        summary = 'done', result_characters = 4, shown_characters = 8
      WHERE tenant_id = $1 AND call_id = ANY($6::uuid[])),
    s AS (INSERT INTO raw.step (tenant_id, task_id, seq, round, kind, body, epoch)
      VALUES ($1, $2, $5, $4, 'results', $7, 1)),
    e AS (${events(8)}) ${touch}`,
};

async function runTask(rounds: number): Promise<void> {
  const client = await pool.connect();
  const id = newId();
  const commit = (name: keyof typeof statements, values: unknown[]) =>
    client.query({ name, text: statements[name], values });
  await client.query(
    `INSERT INTO raw.task (tenant_id, id, state, mode, prompt, model, collection, conversation_id, trace_id, created_by,
       max_rounds, lease_epoch) VALUES ($1, $2, 'RUNNING', 'REACT', 'go', 'm', 'default', $3, $4, 'bench', $5, 1)`,
    [tenant, id, newId(), hash.slice(32), rounds],
  );
  for (let round = 1; round <= rounds; round++) {
    const calls = [newId(), newId()];
    const message = { type: "assistant_message", step: 2 * round, text: "", model: "m", usage };
    const requested = calls.map((callId, ordinal) => ({
      ...{ type: "tool_call_requested", callId, tool: "noop", argumentsPreview: preview, ordinal },
    }));
    const completed = calls.map((callId) => ({
      ...{ type: "tool_call_completed", callId, tool: "noop", state: "SUCCEEDED", summary: "done", errorCode: "" },
      ...{ durationMs: 0, resultCharacters: 4, shownCharacters: 8, spillPointer: "" },
    }));
    const body = { text: "", model: "m", finishReason: "stop", decision: "tool_calls", usage, last: false };
    const head = (sequence: number) => [tenant, id, 5 * round + sequence, round];
    await commit("turn", [...head(3), 2 * round, body, calls, [message, ...requested].map((e) => JSON.stringify(e))]);
    await commit("dispatched", [...head(3), calls]);
    const results = [2 * round + 1, calls, { turn: 2 * round }, completed.map((e) => JSON.stringify(e))];
    await commit("results", [...head(5), ...results]);
  }
  client.release();
}

async function measure(run: DurableRun): Promise<DurableSide["runs"][number]> {
  const begun = performance.now();
  await Promise.all(Array.from({ length: run.tasks }, () => runTask(run.rounds)));
  return { ...run, wallMs: performance.now() - begun, modelTotalMs: 0 };
}

const runs: DurableSide["runs"][number][] = [];
for (const run of options.runs) runs.push(await measure(run));
await pool.end();
process.stdout.write(`${JSON.stringify({ runs, wal: [] } satisfies DurableSide)}\n`);
