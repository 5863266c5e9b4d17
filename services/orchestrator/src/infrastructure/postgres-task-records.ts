import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { EndedTask, ResumeOutcome, TaskRecords } from "../application/record-ports.ts";
import type { CallRecord, StepRecord, TransitionRecord } from "../domain/task-records.ts";
import { unlessPurged } from "./purge-refusal.ts";
import type { OrchestratorSchema } from "./schema.ts";

/** Rows that one transaction of a clean-up removes of each kind, so that none is long. */
const chunk = 500;

/** The records of tasks in Postgres. */
export function createPostgresTaskRecords(db: Database<OrchestratorSchema>): TaskRecords {
  return {
    async resume(tenant, taskId, { actor, expectedVersion, budgets, requestId, bodyHash, maxQueued }) {
      const wish = [actor, expectedVersion, JSON.stringify(budgets), requestId, bodyHash, maxQueued];
      type Row = { outcome: ResumeOutcome; last_sequence: number };
      const [row] = await unlessPurged(db.callAsService<Row>("resume_task", [tenant, taskId, ...wish]));
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      return { outcome: row.outcome, lastSequence: row.last_sequence };
    },
    remove: (tenant, taskId) =>
      db.withTenant(tenant, async (tx) => {
        const gone = await sql`DELETE FROM task WHERE tenant_id = ${tenant} AND id = ${taskId}
          AND state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')`.execute(tx);
        if (gone.numAffectedRows === 1n) return "removed";
        const there = await sql`SELECT FROM task WHERE tenant_id = ${tenant} AND id = ${taskId}`.execute(tx);
        return there.rows.length === 0 ? "not_found" : "running";
      }),
    transitions: ({ tenant, taskId, limit }, after) =>
      db.withTenant(tenant, async (tx) => {
        const { rows } = await sql<TransitionRecord>`
          SELECT version, from_state AS "from", to_state AS "to", actor, reason, input_event AS "inputEvent",
            output_event AS "outputEvent", at
          FROM transition WHERE tenant_id = ${tenant} AND task_id = ${taskId} AND version > ${after}
          ORDER BY version LIMIT ${limit}`.execute(tx);
        return rows;
      }),
    steps: ({ tenant, taskId, limit }, after) =>
      db.withTenant(tenant, async (tx) => {
        const { rows } = await sql<StepRow>`SELECT seq, round, kind, body, at FROM step
          WHERE tenant_id = ${tenant} AND task_id = ${taskId} AND seq > ${after} ORDER BY seq LIMIT ${limit}`.execute(
          tx,
        );
        return rows.map(stepRecordOf);
      }),
    calls: ({ tenant, taskId, limit }, { stepSeq, ordinal }) =>
      db.withTenant(tenant, async (tx) => {
        const { rows } = await sql<Nullable<CallRecord, "approvalId" | "dispatchedAt" | "endedAt">>`
          SELECT call_id AS "callId", step_seq AS "stepSeq", ordinal, tool, arguments_preview AS "argumentsPreview",
            arguments_hash AS "argumentsHash", state, policy_effect AS "policyEffect", policy_rule AS "policyRule",
            approval_id AS "approvalId", summary, error_code AS "errorCode", retryable, artifacts,
            duration_ms AS "durationMs", result_characters AS "resultCharacters", shown_characters AS "shownCharacters",
            spill_pointer AS "spillPointer", proposed_at AS "proposedAt", dispatched_at AS "dispatchedAt",
            ended_at AS "endedAt"
          FROM tool_call WHERE tenant_id = ${tenant} AND task_id = ${taskId}
            AND (step_seq, ordinal) > (${stepSeq}, ${ordinal})
          ORDER BY step_seq, ordinal LIMIT ${limit}`.execute(tx);
        return rows.map((row) => ({
          ...row,
          approvalId: row.approvalId ?? undefined,
          dispatchedAt: row.dispatchedAt ?? undefined,
          endedAt: row.endedAt ?? undefined,
        }));
      }),
    bury: (maxIdle) =>
      db.withSystem("claim", async (tx) => {
        const { rows } = await sql<EndedTask>`SELECT tenant_id AS tenant, task_id AS "taskId",
          last_sequence AS "lastSequence" FROM bury_tasks(${maxIdle})`.execute(tx);
        return rows;
      }),
    expire: (days) =>
      db.withSystem("expire", async (tx) => {
        const { rows } = await sql<{ removed: number }>`SELECT removed FROM expire_tasks(${days}, ${chunk})`.execute(
          tx,
        );
        return rows[0]?.removed ?? 0;
      }),
  };
}

type Nullable<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]: Exclude<T[P], undefined> | null };

interface StepRow extends Pick<StepRecord, "seq" | "round" | "kind" | "at"> {
  readonly body: Partial<Pick<StepRecord, "text" | "model" | "finishReason" | "decision" | "usage" | "role">>;
}

function stepRecordOf({ body, ...row }: StepRow): StepRecord {
  return {
    ...row,
    text: body.text ?? "",
    model: body.model ?? "",
    finishReason: body.finishReason ?? "",
    decision: body.decision ?? "",
    usage: body.usage,
    role: body.role ?? (row.kind === "turn" ? "agent" : ""),
  };
}
