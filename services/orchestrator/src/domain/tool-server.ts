import { canonicalJson } from "./policy.ts";

/** What a server speaks. */
export type ToolServerKind = "mcp_http" | "mcp_stdio" | "grpc" | "grpc_hook";

/** What happens to a call that was sent and has no result; see `Tool.replay`. */
export type ToolServerReplay = "safe" | "idempotent" | "never";

/** Where a hook is asked. */
export type HookPoint = "before_model" | "after_model" | "before_tool" | "after_tool";

/** A header of each request: the text `value`, followed by the secret of that name where there is one. */
interface ToolServerHeader {
  readonly name: string;
  readonly value: string;
  /** Empty for none. Only ever a name: what it stands for is not in the record. */
  readonly secret: string;
}

/** What a tenant says of a server of tools, or of a hook. */
export interface ToolServer {
  readonly name: string;
  readonly kind: ToolServerKind;
  readonly address: string;
  readonly headers: readonly ToolServerHeader[];
  /** The server's own names of the tools that are offered; empty is all. */
  readonly tools: readonly string[];
  /** The first rule that names a tool, else the one of `*`, else never. */
  readonly replay: readonly { readonly tool: string; readonly replay: ToolServerReplay }[];
  readonly timeoutMs: number;
  readonly enabled: boolean;
  /** Of a hook. */
  readonly points: readonly HookPoint[];
  /** Of a hook: work goes on where it does not answer. */
  readonly failOpen: boolean;
}

/** How calls of a tool of this server are replayed. */
export function replayOf({ replay }: Pick<ToolServer, "replay">, tool: string): ToolServerReplay {
  const rule = replay.find((one) => one.tool === tool) ?? replay.find((one) => one.tool === "*");
  return rule?.replay ?? "never";
}

/**
 * One text for all rows that mean the same: the order of headers, tools and keys makes no difference, so that a row
 * which only looks different restarts nothing.
 */
export function contentOf(server: ToolServer): string {
  const sorted = (values: readonly unknown[]) => values.map(canonicalJson).sort();
  const headers = server.headers.map((header) => ({ ...header, name: header.name.toLowerCase() }));
  const points = [...server.points].sort();
  return canonicalJson({ ...server, headers: sorted(headers), tools: [...server.tools].sort(), points });
}
