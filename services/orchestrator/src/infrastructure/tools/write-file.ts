import { createClient, type Transport } from "@connectrpc/connect";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { hasRedactionMark } from "@drover/redaction";
import type { Tool } from "../../application/tool-ports.ts";
import { toolFailure } from "../../domain/tool-result.ts";
import { actingFor } from "../acting-for.ts";
import { shownPath, workspacePath } from "./workspace-path.ts";

const mostCharacters = 1_000_000;

/** write_file: a whole text file of the workspace, made or replaced. */
export function writeFileTool(transport: Transport): Tool {
  const client = createClient(WorkspaceService, transport);
  return {
    spec: {
      name: "write_file",
      description:
        "Writes a whole text file of the workspace; one that is there is replaced. Folders are made as needed.",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string", minLength: 1, maxLength: 1024, description: "Path under /workspace." },
          content: { type: "string", maxLength: mostCharacters, description: "The whole content." },
        },
        required: ["path", "content"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "idempotent",
    async execute(args, context, signal) {
      const target = workspacePath(String(args.path));
      if ("refused" in target) return target.refused;
      if (target.path === "") return toolFailure("BAD_PATH", "/workspace is a folder; name a file in it.");
      const text = String(args.content);
      if (hasRedactionMark(text)) {
        const summary = "The content holds a [redacted:...] mark, which would overwrite a secret; nothing was written.";
        return toolFailure("REDACTED_CONTENT", summary);
      }
      const content = new TextEncoder().encode(text);
      const request = {
        workspaceId: await context.workspace(signal),
        files: [{ path: target.path, content }],
        // The same call again is the same change set once.
        requestId: context.callId,
      };
      await client.putFiles(request, actingFor(context, ["exec:run"], signal));
      const name = shownPath(target.path);
      return {
        ok: true,
        errorCode: "",
        summary: `wrote ${content.length} bytes to ${name}`,
        text: "",
        artifacts: [name],
        retryable: false,
      };
    },
  };
}
