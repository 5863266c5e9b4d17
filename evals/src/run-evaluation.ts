import { type CallOptions, type Client, createClient, type Transport } from "@connectrpc/connect";
import { type TaskEvent, TaskStateSchema, ToolCallStateSchema } from "@drover/proto/event/v1/task_event";
import { AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { ApprovalService, ApprovalState, Decision } from "@drover/proto/orchestrator/v1/approval_service";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { droverErrorFrom } from "@drover/rpc";
import type { Outcome } from "./check-outcome.ts";
import type { Evaluation } from "./evaluation.ts";

/** How a running suite is reached. */
export interface Target {
  readonly transport: Transport;
  readonly call: CallOptions;
}

/** Sets an evaluation up, runs its task to its end through the gateway, and says what became of it. */
export async function runEvaluation({ transport, call }: Target, evaluation: Evaluation): Promise<Outcome> {
  const agents = createClient(AgentService, transport);
  const tasks = createClient(TaskService, transport);
  const workspaces = createClient(WorkspaceService, transport);
  const { agent, policies } = evaluation;
  if (agent !== undefined) await agents.putAgent({ agent }, call);
  for (const policy of policies) await agents.putPolicy({ policy }, call);
  try {
    await loadDocuments(createClient(DocumentService, transport), call, evaluation);
    const workspaceId = await loadFiles(workspaces, call, evaluation.files);
    const defaults = { collection: evaluation.name, workspaceId, agent: agent?.name ?? "" };
    const { task } = await tasks.submitTask({ ...evaluation.task, ...defaults }, call);
    if (task === undefined) throw new Error("The gateway answered without a task.");
    const events = await follow({ transport, call }, task.id, evaluation.decisions);
    return await outcomeOf({ transport, call }, task.id, evaluation, events);
  } finally {
    for (const { name } of policies) await agents.deletePolicy({ name }, call);
  }
}

async function loadDocuments(
  documents: Client<typeof DocumentService>,
  call: CallOptions,
  { name: collection, documents: texts }: Evaluation,
): Promise<void> {
  for (const [name, text] of Object.entries(texts)) {
    const { result } = await documents.uploadDocument(
      (async function* () {
        yield { part: { case: "header", value: { collection, name } } } as const;
        yield { part: { case: "chunk", value: new TextEncoder().encode(text) } } as const;
      })(),
      call,
    );
    if (result.case === "refusal") throw new Error(`The document ${name} was refused: ${result.value.check}`);
  }
}

async function loadFiles(
  workspaces: Client<typeof WorkspaceService>,
  call: CallOptions,
  files: Evaluation["files"],
): Promise<string> {
  const { workspace } = await workspaces.createWorkspace({}, call);
  const workspaceId = workspace?.id ?? "";
  const named = Object.entries(files).map(([path, text]) => ({ path, content: new TextEncoder().encode(text) }));
  if (named.length > 0) await workspaces.putFiles({ workspaceId, files: named }, call);
  return workspaceId;
}

/** Watches a task to its end and decides its approvals. */
async function follow(target: Target, taskId: string, decisions: Evaluation["decisions"]): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  let asked = 0;
  for await (const { message } of createClient(TaskService, target.transport).watchTask({ taskId }, target.call)) {
    if (message.case !== "event") continue;
    events.push(message.value);
    if (message.value.event.case !== "approvalRequired") continue;
    const decision = decisions[Math.min(asked++, decisions.length - 1)];
    if (decision === undefined) throw new Error("An approval is asked for, and the evaluation has no decisions.");
    await decide(target, taskId, message.value.event.value.approvalId, decision);
  }
  return events;
}

async function decide(
  { transport, call }: Target,
  taskId: string,
  approvalId: string,
  decision: "approve" | "deny",
): Promise<void> {
  const client = createClient(ApprovalService, transport);
  const { approvals } = await client.listApprovals({ taskId, states: [ApprovalState.PENDING] }, call);
  const argumentsHash = approvals.find(({ id }) => id === approvalId)?.argumentsHash ?? "";
  const verdict = decision === "approve" ? Decision.APPROVE : Decision.DENY;
  await client.decideApproval({ approvalId, argumentsHash, decision: verdict, comment: "by the evaluation" }, call);
}

async function outcomeOf(
  { transport, call }: Target,
  taskId: string,
  { expect }: Evaluation,
  events: readonly TaskEvent[],
): Promise<Outcome> {
  const tasks = createClient(TaskService, transport);
  const task = (await tasks.getTask({ taskId }, call)).task;
  if (task === undefined) throw new Error("The gateway answered without a task.");
  const { toolCalls } = await tasks.listToolCalls({ taskId, pageSize: 500 }, call);
  const workspaces = createClient(WorkspaceService, transport);
  const files: Record<string, string | undefined> = {};
  for (const path of Object.keys(expect.files ?? {})) files[path] = await readFile(workspaces, call, task, path);
  return {
    state: TaskStateSchema.value[task.state]?.localName ?? "",
    failureReason: task.failureReason,
    failureMessage: task.failureMessage,
    answer: task.answer,
    rounds: task.round,
    tokens: Number(task.budgetUse?.tokens ?? 0n),
    toolCalls: task.budgetUse?.toolCalls ?? 0,
    reworks: task.verification?.reworks ?? 0,
    calls: toolCalls.map(({ tool, argumentsPreview, state }) => ({
      tool,
      arguments: argumentsPreview,
      state: ToolCallStateSchema.value[state]?.localName ?? "",
    })),
    files,
    findings: events.flatMap(({ event }) =>
      event.case === "verificationCompleted" ? event.value.findings.map((line) => line.split(":")[0] ?? "") : [],
    ),
    notices: events.flatMap(({ event }) => (event.case === "notice" ? [event.value.code] : [])),
  };
}

async function readFile(
  workspaces: Client<typeof WorkspaceService>,
  call: CallOptions,
  { workspaceId }: Task,
  path: string,
): Promise<string | undefined> {
  try {
    const { files } = await workspaces.getFiles({ workspaceId, paths: [path] }, call);
    return new TextDecoder().decode(files[0]?.content);
  } catch (error) {
    if (droverErrorFrom(error).code === "NOT_FOUND") return undefined;
    throw error;
  }
}
