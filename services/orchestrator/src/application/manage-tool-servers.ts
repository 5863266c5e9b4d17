import { DroverError, decodePageToken, encodePageToken, notFound, pageSize } from "@drover/kernel";
import type { ToolServer } from "../domain/tool-server.ts";
import { checkToolServer, checkToolServerName, toolServerLimits } from "../domain/tool-server-faults.ts";
import type { Requester } from "./submit-task.ts";
import type { ToolServerRecord, ToolServerSignals, ToolServerStore } from "./tool-source-ports.ts";

const listScope = "tool_servers";

/** What the use cases of tool servers need. */
export interface ToolServerParts {
  readonly servers: ToolServerStore;
  readonly signals: Pick<ToolServerSignals, "changed">;
}

/** Creates or replaces a row and tells every replica. See ToolServerService for codes. */
export async function putToolServer(
  { servers, signals }: ToolServerParts,
  { tenant, subject }: Requester,
  server: ToolServer,
  expectedVersion: number,
): Promise<ToolServerRecord> {
  const { defaultTimeoutMs, defaultHookTimeoutMs, servers: most } = toolServerLimits;
  const timeout = server.kind === "grpc_hook" ? defaultHookTimeoutMs : defaultTimeoutMs;
  const checked = { ...server, timeoutMs: server.timeoutMs === 0 ? timeout : server.timeoutMs };
  checkToolServer(checked);
  const put = await servers.put(tenant, checked, { expectedVersion, actor: subject, most });
  switch (put.outcome) {
    case "written":
      signals.changed(tenant);
      return put.record;
    case "stale":
      throw new DroverError("ABORTED", `The tool server does not have version ${expectedVersion}; read it again.`, {
        reason: "VERSION_MISMATCH",
      });
    case "full":
      throw new DroverError("RESOURCE_EXHAUSTED", `A tenant has at most ${most} tool servers.`, {
        reason: "TOO_MANY_TOOL_SERVERS",
        retryable: false,
      });
  }
}

/** A row as it is now; NOT_FOUND also for one of another tenant. */
export async function getToolServer(
  { servers }: Pick<ToolServerParts, "servers">,
  tenant: string,
  name: string,
): Promise<ToolServerRecord> {
  checkToolServerName(name);
  const record = await servers.get(tenant, name);
  if (record === undefined) throw notFound("tool server", name);
  return record;
}

/** One page of the tenant's rows, by name. INVALID_ARGUMENT for a bad page. */
export async function listToolServers(
  { servers }: Pick<ToolServerParts, "servers">,
  tenant: string,
  request: { readonly pageSize: number; readonly pageToken: string },
): Promise<{ readonly records: readonly ToolServerRecord[]; readonly nextPageToken: string }> {
  const size = pageSize(request.pageSize);
  const [after = ""] = decodePageToken(listScope, request.pageToken) ?? [];
  const found = await servers.list(tenant, size + 1, after);
  const records = found.slice(0, size);
  const last = records.at(-1);
  const more = found.length > size && last !== undefined;
  return { records, nextPageToken: more ? encodePageToken(listScope, [last.server.name]) : "" };
}

/** Removes a row and tells every replica; again is no error. */
export async function deleteToolServer(
  { servers, signals }: ToolServerParts,
  tenant: string,
  name: string,
): Promise<void> {
  checkToolServerName(name);
  await servers.delete(tenant, name);
  signals.changed(tenant);
}
