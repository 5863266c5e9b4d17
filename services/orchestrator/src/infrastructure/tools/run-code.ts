import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { ToolSpec } from "@drover/model";
import { type Execution, Verdict } from "@drover/proto/sandbox/v1/exec";
import { ExecService, type RunRequest } from "@drover/proto/sandbox/v1/exec_service";
import { attr } from "@drover/tracing";
import type { Tool, ToolContext } from "../../application/tool-ports.ts";
import type { ToolResult } from "../../domain/tool-result.ts";
import { actingFor } from "../acting-for.ts";
import type { CodeLanguages } from "./code-languages.ts";
import { runReport } from "./run-report.ts";
import { stoppedExecution } from "./stop-execution.ts";
import { verdictName } from "./verdict-name.ts";

/** Longest wall time that a call may ask for, in seconds. */
const maxSeconds = 300;
/** Beyond the program's own time: queueing, starting the container, taking over the files. */
const extraMs = 60_000;
/** How often a run that was lost without an effect is run again. */
const freshRuns = 3;
/** Between two calls while the service does not answer: doubling from the first to the longest. */
const firstWaitMs = 250;
const longestWaitMs = 4_000;
/** How long the end of a cancelled run is waited for. */
const stopProofMs = 8_000;
/** How long a cancel that the sandbox obeyed may take to arrive here. */
const ownCancelMs = 1_000;
const scopes = ["exec:run", "exec:read"];

type RunBody = Partial<Pick<RunRequest, "language" | "code" | "stdin" | "workspaceId" | "taskId">> & {
  readonly wallSeconds: number | undefined;
};

/**
 * run_code: one program in one container over the task's workspace. The sandbox knows calls by their
 * id, so a call that is sent again gets the run that there is already. A run that was lost with its
 * container has changed nothing, and is run again under an id that follows from the call's.
 */
export function runCodeTool(transport: Transport, languages: CodeLanguages, patienceMs: number): Tool {
  const client = createClient(ExecService, transport);
  let told = { languages: languages.current, spec: specFor(languages.current) };
  return {
    get spec() {
      const { current } = languages;
      if (current !== told.languages) told = { languages: current, spec: specFor(current) };
      return told.spec;
    },
    timeoutMs: maxSeconds * 1000 + extraMs,
    replay: "idempotent",
    async execute(args, context, signal) {
      const body: RunBody = {
        language: String(args.language),
        code: String(args.code),
        stdin: new TextEncoder().encode(typeof args.stdin === "string" ? args.stdin : ""),
        workspaceId: await context.workspace(signal),
        taskId: context.taskId,
        wallSeconds: typeof args.timeout_seconds === "number" ? args.timeout_seconds : undefined,
      };
      for (let run = 0; ; run++) {
        const callId = run === 0 ? context.callId : derivedId(context.callId, run);
        const execution = await runToEnd({ client, patienceMs }, context, callId, body, signal);
        if (!wasLost(execution) || run >= freshRuns || signal.aborted) return reported(context, execution);
        // The sandbox may have heard of the task's cancel before this worker does.
        await delay(execution.verdict === Verdict.CANCELLED ? ownCancelMs : 0, undefined, { signal });
        context.span.event("retry", {
          text: `The run was lost (${execution.message}); it changed nothing and is run again.`,
        });
      }
    },
    async stop(context, signal) {
      let newest: Execution | undefined;
      for (let run = 0; run <= freshRuns; run++) {
        const callId = run === 0 ? context.callId : derivedId(context.callId, run);
        const execution = await stoppedExecution(client, context, callId, { kill: true, signal });
        if (execution === undefined) break;
        newest = execution;
      }
      return newest === undefined ? undefined : reported(context, newest);
    },
  };
}

/** What the model is told; the languages are those of the moment. */
function specFor(languages: readonly string[]): ToolSpec {
  return {
    name: "run_code",
    description:
      "Runs a program in a container of its own and returns its exit code, output and changed files. No network. The working directory is /workspace, shared by all tools; only files under it stay. Output is kept up to 100 KB per stream, so print what matters.",
    parameters: {
      type: "object",
      properties: {
        language: { type: "string", enum: [...languages], description: "Language of the program." },
        code: { type: "string", minLength: 1, description: "The whole program text." },
        stdin: { type: "string", description: "Text for standard input." },
        timeout_seconds: {
          type: "integer",
          minimum: 1,
          maximum: maxSeconds,
          description: `Wall time; default 30, at most ${maxSeconds}.`,
        },
      },
      required: ["language", "code"],
      additionalProperties: false,
    },
  };
}

/** True for a run that ended with its container or its service, through no doing of the program or the task. */
function wasLost({ verdict, killedBy }: Execution): boolean {
  return verdict === Verdict.INFRA_LOST || (verdict === Verdict.CANCELLED && killedBy !== "operator");
}

function reported(context: ToolContext, execution: Execution): ToolResult {
  context.span.set({
    [attr.execLanguage]: execution.language,
    [attr.execExitCode]: execution.exitCode,
    [attr.execOutcome]: verdictName(execution.verdict),
    [attr.execPeakBytes]: Number(execution.peakMemoryBytes),
  });
  return runReport(execution);
}

interface Sandbox {
  readonly client: Client<typeof ExecService>;
  /** How long it is waited for in all while it does not answer, ms. */
  readonly patienceMs: number;
}

async function runToEnd(
  { client, patienceMs }: Sandbox,
  context: ToolContext,
  callId: string,
  { wallSeconds, ...body }: RunBody,
  signal: AbortSignal,
): Promise<Execution> {
  const limits = wallSeconds === undefined ? {} : { limits: { wallTime: { seconds: BigInt(wallSeconds), nanos: 0 } } };
  let accepted = false;
  let waitedMs = 0;
  for (;;) {
    try {
      const options = actingFor(context, scopes, signal);
      for await (const { event } of client.run({ callId, ...body, ...limits }, options)) {
        accepted = true;
        if (event.case === "ended" && event.value.execution !== undefined) return event.value.execution;
      }
      throw new DroverError("UNAVAILABLE", "The sandbox ended the stream before the run was over.");
    } catch (caught) {
      if (signal.aborted) return await provenEnd(client, context, callId, signal.reason);
      const error = DroverError.from(caught);
      const waitMs = Math.min(longestWaitMs, Math.max(firstWaitMs, waitedMs));
      const passes = error.code === "UNAVAILABLE" && error.reason !== "DOCKER_UNAVAILABLE";
      if (!passes || waitedMs + waitMs > patienceMs) throw unavailable(error, accepted);
      context.span.event("retry", { text: error.message });
      await delay(waitMs, undefined, { signal });
      waitedMs += waitMs;
    }
  }
}

/**
 * A model is told in words what it cannot do now, and of a run that may have happened that this is not known; other
 * refusals keep their own reason.
 */
function unavailable(error: DroverError, accepted: boolean): DroverError {
  if (error.code !== "UNAVAILABLE") return error;
  if (accepted) {
    const message =
      "The sandbox went away while the program ran; whether it ended, and what it changed under /workspace, is not known.";
    return new DroverError("UNAVAILABLE", message, { reason: "OUTCOME_UNKNOWN", retryable: false, cause: error });
  }
  return new DroverError("UNAVAILABLE", `Code cannot be run now: ${error.message}`, {
    reason: "SANDBOX_UNAVAILABLE",
    retryable: error.reason !== "DOCKER_UNAVAILABLE",
    cause: error,
  });
}

/** How a run ended that was told to end with its call; throws `why` where it never began or nothing is known in time. */
async function provenEnd(client: Client<typeof ExecService>, context: ToolContext, callId: string, why: unknown) {
  const signal = AbortSignal.timeout(stopProofMs);
  const ended = await stoppedExecution(client, context, callId, { kill: false, signal }).catch(() => undefined);
  if (ended === undefined) throw DroverError.from(why);
  return ended;
}

/** The id of the n-th run of a call: a UUID (version 8, RFC 9562) that anybody computes alike. */
function derivedId(callId: string, run: number): string {
  const hex = createHash("sha256").update(`${callId}/${run}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
