import { createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import type { Workspaces } from "../application/ports.ts";
import { actingFor } from "./acting-for.ts";

/** Workspaces of the sandbox service; the task's id is the request id, so a task gets one however often it asks. */
export function createRpcWorkspaces(transport: Transport): Workspaces {
  const client = createClient(WorkspaceService, transport);
  const exec = createClient(ExecService, transport);
  return {
    async create(scope, signal) {
      const request = { requestId: scope.taskId };
      const { workspace } = await client.createWorkspace(request, actingFor(scope, ["exec:run"], signal));
      if (workspace === undefined) throw new DroverError("INTERNAL", "The sandbox named no workspace.");
      return workspace.id;
    },
    async release(scope, signal) {
      await exec.endSession({ taskId: scope.taskId }, actingFor(scope, ["exec:run"], signal));
    },
  };
}
