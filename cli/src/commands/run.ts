import type { MessageInitShape } from "@bufbuild/protobuf";
import { DroverError, newId } from "@drover/kernel";
import type { BudgetsSchema, Mode } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { usageFailure } from "../failure.ts";
import { type LocalFile, readLocals } from "../local-files.ts";
import type { Session } from "../session.ts";
import { showTask } from "../show-task.ts";

/** What a task is submitted with. */
export interface RunOptions {
  readonly mode: Mode;
  readonly files: readonly string[];
  /** 0 means the default of the agent, else of the service; in budgets too. */
  readonly rounds: number;
  readonly budgets: MessageInitShape<typeof BudgetsSchema>;
  readonly collection: string;
  readonly model: string;
  /** Empty means the service's own. */
  readonly agent: string;
}

/** Bytes of one change set: below the 4 MiB that one message may have. */
const batchBytes = 3_500_000;

/** Submits a task, with files in a new workspace where some are given, and shows it to its end. */
export async function run(session: Session, prompt: string, options: RunOptions): Promise<number> {
  const files = await readLocals(options.files);
  const workspaceId = files.length === 0 ? "" : await upload(session, files);
  const { task } = await session.client(TaskService).submitTask(
    {
      requestId: newId(),
      prompt,
      mode: options.mode,
      workspaceId,
      maxRounds: options.rounds,
      budgets: options.budgets,
      model: options.model,
      agent: options.agent,
      collection: options.collection,
    },
    { signal: session.signal },
  );
  if (task === undefined) throw new DroverError("INTERNAL", "The gateway answered without a task.");
  return await showTask(session, task, 0n);
}

async function upload(session: Session, files: readonly LocalFile[]): Promise<string> {
  const batches = batchesOf(files);
  const workspaces = session.client(WorkspaceService);
  const { signal } = session;
  const { workspace } = await workspaces.createWorkspace({ requestId: newId() }, { signal });
  const workspaceId = workspace?.id ?? "";
  for (const batch of batches) {
    const named = batch.map(({ name, content }) => ({ path: name, content }));
    await workspaces.putFiles({ workspaceId, files: named, requestId: newId() }, { signal });
  }
  return workspaceId;
}

function batchesOf(files: readonly LocalFile[]): readonly (readonly LocalFile[])[] {
  const batches: LocalFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    const { length } = file.content;
    if (length > batchBytes) {
      throw usageFailure(
        `--file: ${file.path} has ${length} bytes, allowed are ${batchBytes}.`,
        "Split it, or upload less.",
      );
    }
    if (bytes + length > batchBytes) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(file);
    bytes += length + 1200;
  }
  return batches;
}
