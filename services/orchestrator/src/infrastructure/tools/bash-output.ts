import { createClient, type Transport } from "@connectrpc/connect";
import { ExecutionState } from "@drover/proto/sandbox/v1/exec";
import { ExecService, type OutputChunk } from "@drover/proto/sandbox/v1/exec_service";
import type { Tool } from "../../application/tool-ports.ts";
import { actingFor } from "../acting-for.ts";
import { verdictName } from "./verdict-name.ts";

const maxWaitSeconds = 60;

/** bash_output: what a command in the background wrote, from positions that the model keeps. */
export function bashOutputTool(transport: Transport): Tool {
  const client = createClient(ExecService, transport);
  return {
    spec: {
      name: "bash_output",
      description:
        "Reads the output of a background command and saves the files it changed. Nothing is consumed: give the offsets that the last answer named to read on, or none to read from the start.",
      parameters: {
        type: "object",
        properties: {
          id: { type: "string", minLength: 1, maxLength: 64, description: "The id that bash gave." },
          stdout_offset: { type: "integer", minimum: 0, description: "First byte of stdout; default 0." },
          stderr_offset: { type: "integer", minimum: 0, description: "First byte of stderr; default 0." },
          filter: { type: "string", maxLength: 1000, description: "RE2; only lines that match are shown." },
          wait_seconds: {
            type: "integer",
            minimum: 0,
            maximum: maxWaitSeconds,
            description: "How long to wait for something new; default 0.",
          },
        },
        required: ["id"],
        additionalProperties: false,
      },
    },
    timeoutMs: (maxWaitSeconds + 30) * 1000,
    replay: "safe",
    polling: true,
    async execute(args, context, signal) {
      const number = (value: unknown) => BigInt(typeof value === "number" ? value : 0);
      const request = {
        executionId: String(args.id),
        stdoutOffset: number(args.stdout_offset),
        stderrOffset: number(args.stderr_offset),
        filter: typeof args.filter === "string" ? args.filter : "",
        wait: { seconds: number(args.wait_seconds), nanos: 0 },
      };
      const answer = await client.read(request, actingFor(context, ["exec:run"], signal));
      const { execution, stdout, stderr } = answer;
      const over = execution?.state === ExecutionState.ENDED;
      const how = over ? `ended: ${verdictName(execution.verdict)}, exit code ${execution.exitCode ?? "none"}` : "runs";
      const on = `read on with stdout_offset ${stdout?.nextOffset ?? 0n}, stderr_offset ${stderr?.nextOffset ?? 0n}`;
      return {
        ok: true,
        errorCode: "",
        summary: `the command ${how}; ${on}`,
        text: [section("stdout", stdout), section("stderr", stderr)].join("\n"),
        artifacts: [],
        retryable: false,
      };
    },
  };
}

function section(name: string, chunk: OutputChunk | undefined): string {
  if (chunk === undefined || chunk.nextOffset === chunk.offset) return `--- ${name}: nothing new`;
  const gap = chunk.missingBytes === 0n ? "" : `[${chunk.missingBytes} bytes before this were dropped]\n`;
  const range = `bytes ${chunk.offset} to ${chunk.nextOffset} of ${chunk.bytesSeen}`;
  return `--- ${name}, ${range}\n${gap}${new TextDecoder().decode(chunk.data)}`;
}
