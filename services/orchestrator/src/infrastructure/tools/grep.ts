import { createClient, type Transport } from "@connectrpc/connect";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import type { Tool } from "../../application/tool-ports.ts";
import { actingFor } from "../acting-for.ts";
import { shownPath, workspacePath } from "./workspace-path.ts";

const mostLines = 200;

/** grep: lines of the workspace's files that match a regular expression. */
export function grepTool(transport: Transport): Tool {
  const client = createClient(WorkspaceService, transport);
  return {
    spec: {
      name: "grep",
      description: `Searches the files of the workspace by a regular expression (RE2: no look-around, no back-references) and returns path:line: text, at most ${mostLines} lines.`,
      parameters: {
        type: "object",
        properties: {
          pattern: { type: "string", minLength: 1, maxLength: 1000, description: "Regular expression." },
          path: { type: "string", maxLength: 1024, description: "One file, or a glob such as logs/**; default all." },
          ignore_case: { type: "boolean", description: "Default false." },
        },
        required: ["pattern"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "safe",
    async execute(args, context, signal) {
      const target = workspacePath(typeof args.path === "string" ? args.path : "");
      if ("refused" in target) return target.refused;
      const request = {
        workspaceId: await context.workspace(signal),
        pattern: String(args.pattern),
        glob: target.path,
        ignoreCase: args.ignore_case === true,
        limit: mostLines,
      };
      const { matches, truncated } = await client.searchFiles(request, actingFor(context, ["exec:read"], signal));
      const more = truncated ? "; there are more, narrow it down" : "";
      return {
        ok: true,
        errorCode: "",
        summary: `${matches.length} lines match${more}`,
        text: matches.map(({ path, line, text }) => `${shownPath(path)}:${line}: ${text}`).join("\n"),
        artifacts: [],
        retryable: false,
      };
    },
  };
}
