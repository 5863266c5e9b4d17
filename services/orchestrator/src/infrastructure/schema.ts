import type { ColumnType, Selectable } from "kysely";
import type { StepBody } from "../domain/step.ts";
import type { TaskMode, TaskUsage, VerificationReport } from "../domain/task.ts";
import type { TaskEventBody } from "../domain/task-event.ts";
import type { TaskState } from "../domain/task-state.ts";
import type { ToolCallState } from "../domain/tool-call-state.ts";

/** Columns that only the functions of the schema write. */
type Read<T> = ColumnType<T, never, never>;

interface TaskTable {
  tenant_id: Read<string>;
  id: Read<string>;
  state: Read<TaskState>;
  mode: Read<TaskMode>;
  prompt: Read<string>;
  model: Read<string>;
  collection: Read<string>;
  conversation_id: Read<string>;
  workspace_id: Read<string | null>;
  workspace_given: Read<boolean>;
  trace_id: Read<string>;
  created_by: Read<string>;
  round: Read<number>;
  max_rounds: Read<number>;
  version: Read<number>;
  last_sequence: Read<number>;
  answer: Read<string>;
  failure_reason: Read<string>;
  failure_message: Read<string>;
  cancel_requested_at: Read<Date | null>;
  cancel_actor: Read<string>;
  cancel_reason: Read<string>;
  input_tokens: Read<number>;
  output_tokens: Read<number>;
  cached_input_tokens: Read<number>;
  reasoning_tokens: Read<number>;
  cost_nano_usd: Read<number | null>;
  memory_usage: Read<TaskUsage | null>;
  attempt: Read<number>;
  lease_epoch: Read<number>;
  agent: Read<string>;
  agent_body: Read<Record<string, unknown>>;
  priority: Read<number>;
  rerun_of: Read<string | null>;
  resumes: Read<number>;
  max_wall_ms: Read<number>;
  max_tokens: Read<number>;
  max_cost_nano_usd: Read<number>;
  max_tool_calls: Read<number>;
  max_output_tokens: Read<number>;
  wall_ms_used: Read<number>;
  tool_calls_used: Read<number>;
  reworks: Read<number>;
  verification: Read<VerificationReport | null>;
  first_sequence: Read<number>;
  created_at: Read<Date>;
  started_at: Read<Date | null>;
  ended_at: Read<Date | null>;
}

interface StepTable {
  tenant_id: Read<string>;
  task_id: Read<string>;
  seq: Read<number>;
  round: Read<number>;
  kind: Read<StepBody["kind"]>;
  body: Read<object>;
}

interface ToolCallTable {
  tenant_id: Read<string>;
  task_id: Read<string>;
  call_id: Read<string>;
  step_seq: Read<number>;
  ordinal: Read<number>;
  provider_call_id: Read<string>;
  tool: Read<string>;
  arguments: Read<string>;
  arguments_hash: Read<string>;
  policy_effect: Read<"allow" | "ask" | "deny">;
  policy_rule: Read<string>;
  allowed_commands: Read<string[]>;
  approval_id: Read<string | null>;
  state: Read<ToolCallState>;
  shown: Read<string>;
  spill_pointer: Read<string>;
  result_characters: Read<number>;
}

interface EventTable {
  tenant_id: Read<string>;
  task_id: Read<string>;
  sequence: Read<number>;
  round: Read<number>;
  body: Read<TaskEventBody>;
  at: Read<Date>;
}

/** The tables of the orchestrator's schema, as far as they are read; writing is done by its functions. */
export interface OrchestratorSchema {
  task: TaskTable;
  step: StepTable;
  tool_call: ToolCallTable;
  event: EventTable;
}

export type TaskRow = Selectable<TaskTable>;
export type StepRow = Selectable<StepTable>;
export type ToolCallRow = Selectable<ToolCallTable>;
export type EventRow = Selectable<EventTable>;
