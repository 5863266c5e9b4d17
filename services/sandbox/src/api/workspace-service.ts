import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { callerOf } from "@drover/rpc";
import type { Workspace } from "../application/ports.ts";
import type { SearchFiles } from "../application/search-files.ts";
import type { Workspaces } from "../application/workspaces.ts";

/** The handlers of WorkspaceService. */
export function workspaceService(
  workspaces: Workspaces,
  search: SearchFiles,
): Partial<ServiceImpl<typeof WorkspaceService>> {
  return {
    async createWorkspace({ requestId }, context) {
      return { workspace: workspaceMessage(await workspaces.create(callerOf(context).tenant, requestId)) };
    },
    async putFiles(request, context) {
      const { workspaceId, deletedPaths, requestId, expectedVersion } = request;
      const workspace = await workspaces.put(callerOf(context).tenant, {
        workspaceId,
        files: request.files.map(({ path, content, executable }) => ({ path, content, executable })),
        deletedPaths,
        requestId,
        expectedVersion: expectedVersion === undefined ? undefined : Number(expectedVersion),
      });
      return { workspace: workspaceMessage(workspace) };
    },
    async getFiles({ workspaceId, paths, offset, length }, context) {
      const wanted = { workspaceId, paths, offset: Number(offset), length: Number(length) };
      const { files, version } = await workspaces.get(callerOf(context).tenant, wanted);
      return {
        files: files.map(({ path, content, size }) => ({
          path,
          content: new Uint8Array(content),
          sizeBytes: BigInt(size),
        })),
        version: BigInt(version),
      };
    },
    async listFiles(request, context) {
      const { files, nextPageToken, version } = await workspaces.list(callerOf(context).tenant, request);
      return {
        files: files.map(({ path, size, executable, sha256 }) => ({
          path,
          sizeBytes: BigInt(size),
          executable,
          sha256,
        })),
        nextPageToken,
        version: BigInt(version),
      };
    },
    async searchFiles(request, context) {
      const { matches, truncated } = await search.search(callerOf(context).tenant, request, context.signal);
      return { matches: [...matches], truncated };
    },
    async deleteWorkspace({ workspaceId }, context) {
      await workspaces.delete(callerOf(context).tenant, workspaceId);
      return {};
    },
  };
}

function workspaceMessage(workspace: Workspace) {
  return {
    id: workspace.id,
    version: BigInt(workspace.version),
    sizeBytes: BigInt(workspace.sizeBytes),
    fileCount: workspace.fileCount,
    createdAt: timestampFromDate(workspace.createdAt),
  };
}
