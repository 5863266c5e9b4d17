import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type CallOptions, type Client, createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { createRpcTransport } from "@drover/rpc";
import { createTaskRenderer } from "drover-cli/render";

const demoFolder = resolve(import.meta.dirname, "../../demo");
/** Between two attempts to reach a service that is away. */
const retryMs = 500;
const prompt = "Help me find out why order ORD-2024-0117 is stuck in payment pending";

/** What the demo needs to know about a running suite. */
export interface DemoTarget {
  readonly url: string;
  readonly apiKey: string;
  readonly say: (line: string) => void;
  /** Where the steps are printed, and how. */
  readonly terminal: Parameters<typeof createTaskRenderer>[0];
}

/**
 * Loads the runbook and the files of `demo/`, submits the demo's task through the gateway and prints
 * its steps as they happen. Returns the ended task. Rejects when the suite cannot be reached.
 */
export async function runDemoJob(target: DemoTarget, signal: AbortSignal): Promise<Task> {
  await using transport = createRpcTransport({ addresses: new URL(target.url).host, audience: "gateway" });
  const call: CallOptions = { signal, headers: { authorization: `Bearer ${target.apiKey}` } };
  await saySandbox(transport, call, target.say);
  await loadRunbook(createClient(DocumentService, transport), call);
  const workspaceId = await loadFiles(createClient(WorkspaceService, transport), call);
  const tasks = createClient(TaskService, transport);
  const { task } = await tasks.submitTask({ prompt, workspaceId, collection: "demo" }, call);
  if (task === undefined) throw new Error("The gateway answered without a task.");
  return await follow(tasks, task, target, call);
}

/** True when the answer names its evidence; the scripted model admits it when it found none. */
export function isAnswered(task: Task): boolean {
  return task.answer !== "" && !task.answer.startsWith("I could not find");
}

async function follow(
  tasks: Client<typeof TaskService>,
  task: Task,
  target: DemoTarget,
  call: CallOptions,
): Promise<Task> {
  const renderer = createTaskRenderer(target.terminal);
  renderer.header(task, `${target.url}/t/${task.id}`);
  const seen = { afterSequence: 0n };
  const watch = async () => {
    for await (const { message } of tasks.watchTask({ taskId: task.id, includeDeltas: true, ...seen }, call)) {
      if (message.case === "delta") renderer.delta(message.value);
      if (message.case !== "event") continue;
      seen.afterSequence = message.value.sequence;
      renderer.event(message.value);
    }
    return (await tasks.getTask({ taskId: task.id }, call)).task;
  };
  const ended = await untilAnswered(watch, call.signal);
  if (ended === undefined) throw new Error("The gateway answered without a task.");
  renderer.end(ended);
  return ended;
}

/** A service that is being restarted is waited for: the task goes on by itself, and the watch after what was seen. */
async function untilAnswered<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (caught) {
      const error = DroverError.from(caught);
      if (error.code !== "UNAVAILABLE" || signal?.aborted) throw error;
      await delay(retryMs, undefined, { signal });
    }
  }
}

async function saySandbox(transport: Transport, call: CallOptions, say: DemoTarget["say"]): Promise<void> {
  const health = await createClient(ExecService, transport).checkHealth({}, call);
  say(
    health.ready
      ? `sandbox   Docker ${health.daemonVersion}, isolation ${health.isolation}`
      : `sandbox   unavailable: ${health.problem} ${health.advice}`,
  );
}

async function loadRunbook(documents: Client<typeof DocumentService>, call: CallOptions): Promise<void> {
  const { result } = await documents.uploadDocument(
    (async function* () {
      yield { part: { case: "header", value: { collection: "demo", name: "runbook.md" } } } as const;
      yield { part: { case: "chunk", value: readFileSync(join(demoFolder, "runbook.md")) } } as const;
    })(),
    call,
  );
  if (result.case === "refusal") throw new Error(`The runbook was refused: ${result.value.check}`);
}

async function loadFiles(workspaces: Client<typeof WorkspaceService>, call: CallOptions): Promise<string> {
  const { workspace } = await workspaces.createWorkspace({}, call);
  const workspaceId = workspace?.id ?? "";
  const files = ["orders.json", "payments.json", "gateway.log"].map((path) => ({
    path,
    content: readFileSync(join(demoFolder, path)),
  }));
  await workspaces.putFiles({ workspaceId, files }, call);
  return workspaceId;
}
