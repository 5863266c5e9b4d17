import { readFileSync } from "node:fs";
import { create, toJsonString } from "@bufbuild/protobuf";
import { openDatabase } from "@drover/postgres";
import { TaskEventSchema } from "@drover/proto/event/v1/task_event";
import { WatchTaskResponseSchema } from "@drover/proto/orchestrator/v1/task_service";
import { sql } from "kysely";
import { watchMessage } from "../../src/api/to-proto.ts";
import { systemJobs } from "../../src/infrastructure/postgres-task-store.ts";
import type { OrchestratorSchema } from "../../src/infrastructure/schema.ts";
import { callOf, eventOf, stepOf } from "../../src/infrastructure/task-rows.ts";
import type { OwnerEntry, RecordedApproval, RecordedTask } from "./history.ts";

interface TransitionRow {
  readonly task_id: string;
  readonly version: number;
  readonly from_state: string;
  readonly to_state: string;
  readonly actor: string;
  readonly output_event: number;
}

interface EpochRow {
  readonly task_id: string;
  readonly seq: number;
  readonly epoch: number;
}

interface ApprovalRow {
  readonly id: string;
  readonly task_id: string;
  readonly call_id: string;
  readonly rule: string;
  readonly state: string;
  readonly decided_by: string;
  readonly edited_hash: string;
  readonly arguments_hash: string;
  readonly late: boolean;
  readonly changes: string[];
}

/** Everything that is stored of a tenant's tasks. */
export async function recordedTasks(url: string, tenant: string): Promise<RecordedTask[]> {
  await using db = openDatabase<OrchestratorSchema>({ url, service: "orchestrator", systemJobs, poolMax: 2 });
  return await db.withTenant(tenant, async (tx) => {
    const tasks = await tx.selectFrom("task").selectAll().where("tenant_id", "=", tenant).execute();
    const { rows: transitions } = await sql<TransitionRow>`SELECT * FROM transition ORDER BY version`.execute(tx);
    const { rows: epochs } = await sql<EpochRow>`SELECT task_id, seq, epoch FROM step`.execute(tx);
    const epochOf = new Map(epochs.map((row) => [`${row.task_id}/${row.seq}`, row.epoch]));
    const steps = await tx.selectFrom("step").selectAll().orderBy("seq").execute();
    const calls = await tx.selectFrom("tool_call").selectAll().orderBy("step_seq").orderBy("ordinal").execute();
    const { rows: approvals } = await sql<ApprovalRow>`SELECT a.*, coalesce(decided_at > expires_at, false) AS late,
      (SELECT array_agg(c.state ORDER BY c.sequence) FROM approval_change c WHERE c.approval_id = a.id) AS changes
      FROM approval a ORDER BY a.id`.execute(tx);
    const events = await tx.selectFrom("event").selectAll().orderBy("sequence").execute();
    return tasks.map((task): RecordedTask => {
      const mine = ({ task_id: id }: { readonly task_id: string }) => id === task.id;
      return {
        id: task.id,
        state: task.state,
        version: task.version,
        lastSequence: task.last_sequence,
        epoch: task.lease_epoch,
        transitions: transitions.filter(mine).map((row) => ({
          version: row.version,
          from: row.from_state,
          to: row.to_state,
          actor: row.actor,
          outputEvent: row.output_event,
        })),
        steps: steps
          .filter(mine)
          .map((row) => ({ ...stepOf(row), epoch: epochOf.get(`${row.task_id}/${row.seq}`) ?? -1 })),
        calls: calls.filter(mine).map(callOf),
        approvals: approvals.filter(mine).map(approvalOf),
        events: events.filter(mine).map((row) => {
          const event = eventOf(row);
          const { body } = event;
          const about = body.type === "approval_decided" ? { approvalId: body.approvalId } : {};
          return { sequence: event.sequence, type: body.type, text: textOf(event), ...about };
        }),
      };
    });
  });
}

function approvalOf(row: ApprovalRow): RecordedApproval {
  const edited = row.edited_hash !== "";
  return {
    ...{ id: row.id, callId: row.call_id, rule: row.rule, state: row.state, by: row.decided_by, edited },
    argumentsHash: edited ? row.edited_hash : row.arguments_hash,
    ...{ late: row.late, changes: row.changes },
  };
}

function textOf(event: ReturnType<typeof eventOf>): string {
  const { message } = create(WatchTaskResponseSchema, watchMessage({ kind: "event", event }));
  if (message.case !== "event") throw new Error("no event");
  return toJsonString(TaskEventSchema, message.value);
}

/** What replicas wrote down of their holds. */
export function ownerEntries(file: string): OwnerEntry[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line): OwnerEntry => JSON.parse(line));
}
