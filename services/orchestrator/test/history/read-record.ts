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
import type { OwnerEntry, RecordedTask } from "./history.ts";

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
        events: events.filter(mine).map((row) => {
          const event = eventOf(row);
          return { sequence: event.sequence, type: event.body.type, text: textOf(event) };
        }),
      };
    });
  });
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
