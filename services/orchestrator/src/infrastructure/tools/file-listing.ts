import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import type { Tool, ToolContext } from "../../application/tool-ports.ts";
import type { ToolResult } from "../../domain/tool-result.ts";
import { actingFor } from "../acting-for.ts";
import { globUnder, shownPath, workspacePath } from "./workspace-path.ts";

/** Names that one call lists. */
const mostNames = 1_000;

/** list_directory: what is in a folder of the workspace, one level deep. */
export function listDirectoryTool(transport: Transport): Tool {
  const client = createClient(WorkspaceService, transport);
  return {
    spec: {
      name: "list_directory",
      description: "Lists the files and folders in a folder of the workspace, one level deep, with sizes.",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string", maxLength: 1024, description: "Folder; default /workspace." },
        },
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "safe",
    async execute(args, context, signal) {
      const target = workspacePath(typeof args.path === "string" ? args.path : "");
      if ("refused" in target) return target.refused;
      const { files, more } = await list(client, context, globUnder(target.path, "**"), signal);
      const lines = entriesOf(target.path, files);
      return listing(`${lines.length} entries in ${shownPath(target.path)}`, lines, more);
    },
  };
}

/** glob: files of the workspace whose path matches a pattern. */
export function globTool(transport: Transport): Tool {
  const client = createClient(WorkspaceService, transport);
  return {
    spec: {
      name: "glob",
      description: "Lists the files of the workspace whose path matches a glob such as **/*.log or src/*.{ts,js}.",
      parameters: {
        type: "object",
        properties: {
          pattern: { type: "string", minLength: 1, maxLength: 1024, description: "Glob, relative to /workspace." },
        },
        required: ["pattern"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "safe",
    async execute(args, context, signal) {
      const target = workspacePath(String(args.pattern));
      if ("refused" in target) return target.refused;
      const { files, more } = await list(client, context, target.path, signal);
      const lines = files.map(({ path, size }) => `${shownPath(path)} (${size} bytes)`);
      return listing(`${lines.length} files match ${String(args.pattern)}`, lines, more);
    },
  };
}

interface ListedFile {
  readonly path: string;
  readonly size: bigint;
}

async function list(
  client: Client<typeof WorkspaceService>,
  context: ToolContext,
  glob: string,
  signal: AbortSignal,
): Promise<{ readonly files: readonly ListedFile[]; readonly more: boolean }> {
  const workspaceId = await context.workspace(signal);
  const files: ListedFile[] = [];
  let pageToken = "";
  do {
    const request = { workspaceId, glob, pageSize: 500, pageToken };
    const page = await client.listFiles(request, actingFor(context, ["exec:read"], signal));
    files.push(...page.files.map(({ path, sizeBytes }) => ({ path, size: sizeBytes })));
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && files.length < mostNames);
  return { files: files.slice(0, mostNames), more: pageToken !== "" || files.length > mostNames };
}

function entriesOf(folder: string, files: readonly ListedFile[]): string[] {
  const prefix = folder === "" ? "" : `${folder}/`;
  const folders = new Map<string, number>();
  const lines: string[] = [];
  for (const { path, size } of files) {
    if (!path.startsWith(prefix)) continue;
    const [first = "", ...deeper] = path.slice(prefix.length).split("/");
    if (deeper.length === 0) lines.push(`${shownPath(path)} (${size} bytes)`);
    else folders.set(first, (folders.get(first) ?? 0) + 1);
  }
  const shown = [...folders].map(([name, count]) => `${shownPath(prefix + name)}/ (${count} files)`);
  return [...shown, ...lines];
}

function listing(summary: string, lines: readonly string[], more: boolean): ToolResult {
  return {
    ok: true,
    errorCode: "",
    summary: more ? `${summary}; there are more, narrow it down` : summary,
    text: lines.join("\n"),
    artifacts: [],
    retryable: false,
  };
}
