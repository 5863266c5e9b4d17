import { createClient, type Transport } from "@connectrpc/connect";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import type { Tool } from "../../application/tool-ports.ts";
import { toolFailure } from "../../domain/tool-result.ts";
import { actingFor } from "../acting-for.ts";
import { shownPath, workspacePath } from "./workspace-path.ts";

/** Bytes that one call reads; the service's own bound for a call is 3 MB. */
const mostBytes = 2_000_000;

/** read_file: a text file of the workspace, whole or a range of its bytes. */
export function readFileTool(transport: Transport): Tool {
  const client = createClient(WorkspaceService, transport);
  return {
    spec: {
      name: "read_file",
      description:
        "Reads a text file of the workspace. Offset and length are in bytes; without them the whole file. A long file is better worked on with run_code or grep.",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string", minLength: 1, maxLength: 1024, description: "Path under /workspace." },
          offset: { type: "integer", minimum: 0, description: "First byte; default 0." },
          length: { type: "integer", minimum: 1, maximum: mostBytes, description: "Bytes to read." },
        },
        required: ["path"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "safe",
    async execute(args, context, signal) {
      const target = workspacePath(String(args.path));
      if ("refused" in target) return target.refused;
      const request = {
        workspaceId: await context.workspace(signal),
        paths: [target.path],
        offset: BigInt(typeof args.offset === "number" ? args.offset : 0),
        length: BigInt(typeof args.length === "number" ? args.length : mostBytes),
      };
      const { files } = await client.getFiles(request, actingFor(context, ["exec:read"], signal));
      const [file] = files;
      const name = shownPath(target.path);
      if (file === undefined) return toolFailure("FILE_NOT_FOUND", `There is no file ${name}.`);
      if (file.content.subarray(0, 8_192).includes(0)) {
        const summary = `${name} is not a text file (${file.sizeBytes} bytes); look at it with run_code.`;
        return toolFailure("NOT_TEXT", summary);
      }
      const first = Number(request.offset);
      const end = first + file.content.length;
      const range =
        end - first < Number(file.sizeBytes) ? `bytes ${first} to ${end} of ${file.sizeBytes}` : "whole file";
      return {
        ok: true,
        errorCode: "",
        summary: `${name}, ${range}`,
        text: new TextDecoder().decode(file.content),
        artifacts: [],
        retryable: false,
      };
    },
  };
}
