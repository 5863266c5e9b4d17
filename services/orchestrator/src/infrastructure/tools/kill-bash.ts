import { createClient, type Transport } from "@connectrpc/connect";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import type { Tool } from "../../application/tool-ports.ts";
import { toolFailure } from "../../domain/tool-result.ts";
import { actingFor } from "../acting-for.ts";
import { runReport } from "./run-report.ts";

/** kill_bash: ends a command in the background, gracefully, then by force; again is harmless. */
export function killBashTool(transport: Transport): Tool {
  const client = createClient(ExecService, transport);
  return {
    spec: {
      name: "kill_bash",
      description:
        "Ends a background command (SIGTERM, two seconds later SIGKILL) and returns its output. One that has ended stays as it is.",
      parameters: {
        type: "object",
        properties: { id: { type: "string", minLength: 1, maxLength: 64, description: "The id that bash gave." } },
        required: ["id"],
        additionalProperties: false,
      },
    },
    timeoutMs: 60_000,
    replay: "idempotent",
    async execute(args, context, signal) {
      const request = { executionId: String(args.id) };
      const { execution } = await client.signal(request, actingFor(context, ["exec:run"], signal));
      if (execution === undefined) return toolFailure("NOT_FOUND", "There is no such command.");
      // That the command is over is what was asked for, however it ended.
      return { ...runReport(execution), ok: true, errorCode: "", retryable: false };
    },
  };
}
