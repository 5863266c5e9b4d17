import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { hasRedactionMark } from "@drover/redaction";
import type { Tool, ToolContext } from "../../application/tool-ports.ts";
import { type ToolResult, toolFailure } from "../../domain/tool-result.ts";
import { actingFor } from "../acting-for.ts";
import { shownPath, workspacePath } from "./workspace-path.ts";

const mostBytes = 2_000_000;
const mostCharacters = 1_000_000;
/** How often an edit is made anew because the workspace changed between reading and writing. */
const attempts = 10;

interface Edit {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly all: boolean;
}

/** edit_file: replaces a text in a file of the workspace, against the version that was read. */
export function editFileTool(transport: Transport): Tool {
  const client = createClient(WorkspaceService, transport);
  return {
    spec: {
      name: "edit_file",
      description:
        "Replaces old_text by new_text in a text file of the workspace. old_text must occur exactly once, unless replace_all is true.",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string", minLength: 1, maxLength: 1024, description: "Path under /workspace." },
          old_text: { type: "string", minLength: 1, maxLength: mostCharacters, description: "Exact text to replace." },
          new_text: { type: "string", maxLength: mostCharacters, description: "What stands there afterwards." },
          replace_all: { type: "boolean", description: "Default false." },
        },
        required: ["path", "old_text", "new_text"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "idempotent",
    async execute(args, context, signal) {
      const target = workspacePath(String(args.path));
      if ("refused" in target) return target.refused;
      const newText = String(args.new_text);
      if (hasRedactionMark(newText)) {
        const summary = "new_text holds a [redacted:...] mark, which would overwrite a secret; nothing was written.";
        return toolFailure("REDACTED_CONTENT", summary);
      }
      const edit = { path: target.path, oldText: String(args.old_text), newText, all: args.replace_all === true };
      for (let attempt = 1; ; attempt++) {
        try {
          return await editOnce(client, context, edit, signal);
        } catch (caught) {
          const error = DroverError.from(caught);
          if (error.code !== "ABORTED" || attempt === attempts) throw error;
        }
      }
    },
  };
}

async function editOnce(
  client: Client<typeof WorkspaceService>,
  context: ToolContext,
  { path, oldText, newText, all }: Edit,
  signal: AbortSignal,
): Promise<ToolResult> {
  const workspaceId = await context.workspace(signal);
  const options = actingFor(context, ["exec:run", "exec:read"], signal);
  const { files, version } = await client.getFiles({ workspaceId, paths: [path], length: BigInt(mostBytes) }, options);
  const [file] = files;
  const name = shownPath(path);
  if (file === undefined) return toolFailure("FILE_NOT_FOUND", `There is no file ${name}.`);
  if (file.sizeBytes > mostBytes) {
    return toolFailure("FILE_TOO_LARGE", `${name} has ${file.sizeBytes} bytes; change it with run_code or bash.`);
  }
  const text = decoded(file.content);
  if (text === undefined) return toolFailure("NOT_TEXT", `${name} is not UTF-8 text; change it with run_code or bash.`);
  const parts = text.split(oldText);
  const found = parts.length - 1;
  if (found === 0) {
    const applied = newText !== "" && text.includes(newText) ? " new_text stands there already." : "";
    return toolFailure("TEXT_NOT_FOUND", `old_text does not occur in ${name}; nothing was changed.${applied}`);
  }
  if (found > 1 && !all) {
    const summary = `old_text occurs ${found} times in ${name}; give more of its surroundings, or replace_all.`;
    return toolFailure("TEXT_NOT_UNIQUE", summary);
  }
  const content = new TextEncoder().encode(parts.join(newText));
  const executable = await isExecutable(client, workspaceId, path, options);
  await client.putFiles(
    { workspaceId, files: [{ path, content, executable }], expectedVersion: version, requestId: context.callId },
    options,
  );
  const summary = `replaced ${found} ${found === 1 ? "place" : "places"} in ${name}`;
  return { ok: true, errorCode: "", summary, text: "", artifacts: [name], retryable: false };
}

function decoded(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}

/** An edit keeps the execute bit, which only a listing tells. */
async function isExecutable(
  client: Client<typeof WorkspaceService>,
  workspaceId: string,
  path: string,
  options: ReturnType<typeof actingFor>,
): Promise<boolean> {
  const glob = path.replace(/[*?[\]{}\\]/g, "?");
  const { files } = await client.listFiles({ workspaceId, glob, pageSize: 100 }, options);
  return files.find((file) => file.path === path)?.executable ?? false;
}
