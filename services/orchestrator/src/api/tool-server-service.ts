import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import {
  ToolServerKind as ProtoKind,
  HookPoint as ProtoPoint,
  ToolReplay as ProtoReplay,
  type ToolServer as ProtoServer,
  ToolServerState as ProtoState,
  type ToolServerSchema,
  type ToolServerService,
} from "@drover/proto/orchestrator/v1/tool_server_service";
import { callerOf } from "@drover/rpc";
import {
  deleteToolServer,
  getToolServer,
  listToolServers,
  putToolServer,
  type ToolServerParts,
} from "../application/manage-tool-servers.ts";
import type { RunningToolCatalog } from "../application/tool-catalog.ts";
import type { ToolServerRecord } from "../application/tool-source-ports.ts";
import type { HookPoint, ToolServer, ToolServerKind, ToolServerReplay } from "../domain/tool-server.ts";

/** The handlers of ToolServerService. */
export function createToolServerService(
  parts: ToolServerParts & { readonly catalog: Pick<RunningToolCatalog, "status"> },
): ServiceImpl<typeof ToolServerService> {
  return {
    async putToolServer({ server, expectedVersion }, context) {
      if (server === undefined) throw invalidField("server", "nothing", "a tool server");
      if (expectedVersion < 0n || expectedVersion > BigInt(Number.MAX_SAFE_INTEGER)) {
        throw invalidField("expected_version", String(expectedVersion), "0 or the version that was read");
      }
      const record = await putToolServer(parts, callerOf(context), serverOf(server), Number(expectedVersion));
      return { server: serverMessage(record) };
    },
    async getToolServer({ name }, context) {
      return { server: serverMessage(await getToolServer(parts, callerOf(context).tenant, name)) };
    },
    async listToolServers({ pageSize, pageToken }, context) {
      const page = await listToolServers(parts, callerOf(context).tenant, { pageSize, pageToken });
      return { servers: page.records.map(serverMessage), nextPageToken: page.nextPageToken };
    },
    async deleteToolServer({ name }, context) {
      await deleteToolServer(parts, callerOf(context).tenant, name);
      return {};
    },
    async getToolServerStatus(_request, context) {
      const { digest, plugs } = await parts.catalog.status(callerOf(context).tenant);
      const servers = plugs.map((plug) => {
        return { ...plug, state: states[plug.state], tools: [...plug.tools], leftOut: [...plug.leftOut] };
      });
      return { servers, catalogDigest: digest };
    },
  };
}

const states = {
  ready: ProtoState.READY,
  failing: ProtoState.FAILING,
  draining: ProtoState.DRAINING,
} as const;

const kinds: Readonly<Record<ToolServerKind, ProtoKind>> = {
  mcp_http: ProtoKind.MCP_HTTP,
  mcp_stdio: ProtoKind.MCP_STDIO,
  grpc: ProtoKind.GRPC,
  grpc_hook: ProtoKind.GRPC_HOOK,
};

const replays: Readonly<Record<ToolServerReplay, ProtoReplay>> = {
  safe: ProtoReplay.SAFE,
  idempotent: ProtoReplay.IDEMPOTENT,
  never: ProtoReplay.NEVER,
};

const points: Readonly<Record<HookPoint, ProtoPoint>> = {
  before_model: ProtoPoint.BEFORE_MODEL,
  after_model: ProtoPoint.AFTER_MODEL,
  before_tool: ProtoPoint.BEFORE_TOOL,
  after_tool: ProtoPoint.AFTER_TOOL,
};

/** The word of a table that a number of the wire stands for. INVALID_ARGUMENT for any other number. */
function wordOf<W extends string>(table: Readonly<Record<W, number>>, value: number, field: string): W {
  const words = Object.keys(table) as W[];
  const word = words.find((one) => table[one] === value);
  if (word === undefined) throw invalidField(field, String(value), words.join(", ").toUpperCase());
  return word;
}

function serverOf(server: ProtoServer): ToolServer {
  const { name, address, enabled, failOpen } = server;
  return {
    ...{ name, address, enabled, failOpen },
    kind: wordOf(kinds, server.kind, "server.kind"),
    headers: server.headers.map(({ name: header, value, secret }) => ({ name: header, value, secret })),
    tools: [...new Set(server.tools)],
    replay: server.replay.map(({ tool, replay }, index) => ({
      tool,
      replay: replay === ProtoReplay.UNSPECIFIED ? "never" : wordOf(replays, replay, `server.replay[${index}].replay`),
    })),
    timeoutMs: Number(server.timeoutMs),
    points: [...new Set(server.points)].map((point, index) => wordOf(points, point, `server.points[${index}]`)),
  };
}

function serverMessage(record: ToolServerRecord): MessageInitShape<typeof ToolServerSchema> {
  const { server, version, updatedAt, updatedBy } = record;
  return {
    ...server,
    kind: kinds[server.kind],
    headers: [...server.headers],
    tools: [...server.tools],
    replay: server.replay.map(({ tool, replay }) => ({ tool, replay: replays[replay] })),
    timeoutMs: BigInt(server.timeoutMs),
    points: server.points.map((point) => points[point]),
    version: BigInt(version),
    updatedAt: timestampFromDate(updatedAt),
    updatedBy,
  };
}
