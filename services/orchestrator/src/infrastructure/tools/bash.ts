import { setTimeout as delay } from "node:timers/promises";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { type Execution, ExecutionState } from "@drover/proto/sandbox/v1/exec";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { attr } from "@drover/tracing";
import type { Tool, ToolContext } from "../../application/tool-ports.ts";
import { actingFor } from "../acting-for.ts";
import { runReport } from "./run-report.ts";
import { stoppedExecution } from "./stop-execution.ts";
import { verdictName } from "./verdict-name.ts";

const defaultSeconds = 120;
const maxSeconds = 600;
/** Beyond the command's own time: starting the session's container, moving the files. */
const extraMs = 60_000;
/** One question waits this long for the end, in seconds. */
const waitSeconds = 20n;
/** Between two questions that were answered at once. */
const pauseMs = 250;
const endMs = 8_000;
const scopes = ["exec:run", "exec:read"];

/**
 * bash: one command in the task's session container. The sandbox knows calls by their id, so a call
 * that is sent again follows the command that there is already. A command in the background outlives the call.
 */
export function bashTool(transport: Transport, patienceMs: number): Tool {
  const client = createClient(ExecService, transport);
  return {
    spec: {
      name: "bash",
      description:
        "Runs a bash command in the task's own container, in /workspace, and returns its exit code, output and changed files. No network. Each command is a shell of its own; /tmp and background commands stay between commands. With background true it returns at once with an id for bash_output and kill_bash.",
      parameters: {
        type: "object",
        properties: {
          command: { type: "string", minLength: 1, maxLength: 100_000, description: "What `bash -c` gets." },
          timeout_seconds: {
            type: "integer",
            minimum: 1,
            maximum: maxSeconds,
            description: `Wall time of a foreground command; default ${defaultSeconds}, at most ${maxSeconds}.`,
          },
          background: { type: "boolean", description: "Default false." },
        },
        required: ["command"],
        additionalProperties: false,
      },
    },
    timeoutMs: maxSeconds * 1000 + extraMs,
    replay: "idempotent",
    async execute(args, context, signal) {
      const background = args.background === true;
      const seconds = typeof args.timeout_seconds === "number" && !background ? args.timeout_seconds : undefined;
      const request = {
        callId: context.callId,
        taskId: context.taskId,
        workspaceId: await context.workspace(signal),
        command: String(args.command),
        background,
        ...(context.allowedCommands && { allowedCommands: [...context.allowedCommands] }),
        ...(seconds === undefined ? {} : { timeout: { seconds: BigInt(seconds), nanos: 0 } }),
      };
      try {
        const started = await patiently(context, patienceMs, signal, () =>
          client.start(request, actingFor(context, scopes, signal)),
        );
        const id = started.execution?.id ?? "";
        if (background) return startedResult(id);
        await patiently(context, patienceMs, signal, () => untilEnded(client, context, id, signal));
        const key = { case: "id" as const, value: id };
        const { execution } = await client.getExecution({ key }, actingFor(context, scopes, signal));
        if (execution === undefined) throw new DroverError("INTERNAL", "The sandbox answered without an execution.");
        note(context, execution);
        return runReport(execution);
      } catch (error) {
        if (!signal.aborted || background) throw error;
        // A foreground command ends with its call; what it wrote until then is kept.
        const waiting = { kill: true, signal: AbortSignal.timeout(endMs) };
        const ended = await stoppedExecution(client, context, context.callId, waiting).catch(() => undefined);
        if (ended === undefined) throw error;
        return runReport(ended);
      }
    },
    async stop(context, signal) {
      const execution = await stoppedExecution(client, context, context.callId, { kill: true, signal });
      return execution === undefined ? undefined : runReport(execution);
    },
  };
}

function startedResult(id: string) {
  return {
    ok: true,
    errorCode: "",
    summary: `running in the background as ${id}`,
    text: `Read its output with bash_output {"id": "${id}"}, end it with kill_bash {"id": "${id}"}.`,
    artifacts: [],
    retryable: false,
  };
}

function note(context: ToolContext, execution: Execution): void {
  context.span.set({
    [attr.execLanguage]: execution.language,
    [attr.execExitCode]: execution.exitCode,
    [attr.execOutcome]: verdictName(execution.verdict),
    [attr.execPeakBytes]: Number(execution.peakMemoryBytes),
  });
}

async function untilEnded(
  client: Client<typeof ExecService>,
  context: ToolContext,
  executionId: string,
  signal: AbortSignal,
): Promise<void> {
  const request = { executionId, untilEnded: true, wait: { seconds: waitSeconds, nanos: 0 }, maxBytes: 1 };
  for (;;) {
    const { execution } = await client.read(request, actingFor(context, scopes, signal));
    if (execution?.state === ExecutionState.ENDED) return;
    await delay(pauseMs, undefined, { signal });
  }
}

/** Repeats what may be repeated while the sandbox does not answer, for a bounded time. */
async function patiently<T>(
  context: ToolContext,
  patienceMs: number,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (let waitedMs = 0; ; ) {
    try {
      return await work();
    } catch (caught) {
      const error = DroverError.from(caught);
      const waitMs = Math.min(4_000, Math.max(pauseMs, waitedMs));
      if (signal.aborted || error.code !== "UNAVAILABLE" || waitedMs + waitMs > patienceMs) throw error;
      context.span.event("retry", { text: error.message });
      await delay(waitMs, undefined, { signal });
      waitedMs += waitMs;
    }
  }
}
