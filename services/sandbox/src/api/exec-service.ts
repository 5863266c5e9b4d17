import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import { type Limits as LimitsMessage, OutputStream } from "@drover/proto/sandbox/v1/exec";
import {
  type ExecService,
  LanguageSchema,
  type RunRequest as RunRequestMessage,
  type RunResponseSchema,
} from "@drover/proto/sandbox/v1/exec_service";
import { callerOf, traceOf } from "@drover/rpc";
import type { CheckEngine } from "../application/check-engine.ts";
import type { Executions } from "../application/executions.ts";
import type { RunEvent } from "../application/live-run.ts";
import type { RunProgram } from "../application/run-program.ts";
import type { RunRequest } from "../application/run-request.ts";
import type { Limits } from "../domain/limits.ts";
import { executionMessage, limitsMessage, listedMessage } from "./execution-message.ts";
import { millisecondsOf } from "./milliseconds.ts";

/** What the handlers delegate to. */
export interface ExecParts {
  readonly runs: RunProgram;
  readonly executions: Executions;
  readonly engine: CheckEngine;
}

type ExecHandlers = Pick<
  ServiceImpl<typeof ExecService>,
  "run" | "getExecution" | "listExecutions" | "listLanguages" | "checkHealth"
>;

/** The handlers of ExecService but those of sessions. */
export function execService(parts: ExecParts): ExecHandlers {
  return {
    async *run(message, context) {
      const caller = { tenant: callerOf(context).tenant, trace: traceOf(context), deadlineMs: context.timeoutMs() };
      const { existing, events } = await parts.runs.start(caller, runRequest(message), context.signal);
      let sequence = 0n;
      for await (const event of events) yield { sequence: ++sequence, event: eventMessage(event, existing) };
    },
    async getExecution({ key }, context) {
      if (key.case === undefined) throw invalidField("key", "nothing", "id or call_id");
      const wanted = key.case === "id" ? { id: key.value } : { callId: key.value };
      return { execution: executionMessage(await parts.executions.get(callerOf(context).tenant, wanted)) };
    },
    async listExecutions(request, context) {
      const { executions, nextPageToken } = await parts.executions.list(callerOf(context).tenant, request);
      return { executions: executions.map(listedMessage), nextPageToken };
    },
    async listLanguages(_request, context) {
      const languages = await parts.engine.languages(context.signal);
      return {
        languages: languages.map(({ language, image, available }) =>
          create(LanguageSchema, { name: language.name, title: language.title, image, available }),
        ),
      };
    },
    async checkHealth(_request, context) {
      const { ready, problem, advice, version, isolation } = await parts.engine.health(context.signal);
      return { ready, problem, advice, isolation: isolation ?? "", daemonVersion: version };
    },
  };
}

type EventMessage = NonNullable<MessageInitShape<typeof RunResponseSchema>["event"]>;

function eventMessage(event: RunEvent, existing: boolean): EventMessage {
  switch (event.kind) {
    case "accepted":
      return { case: "accepted", value: { executionId: event.executionId, existing } };
    case "started":
      return { case: "started", value: { appliedLimits: limitsMessage(event.limits) } };
    case "data": {
      const stream = event.stream === "stdout" ? OutputStream.STDOUT : OutputStream.STDERR;
      return { case: "data", value: { stream, offset: BigInt(event.offset), data: new Uint8Array(event.data) } };
    }
    case "ended":
      return { case: "ended", value: { execution: executionMessage(event.execution) } };
  }
}

function runRequest(message: RunRequestMessage): RunRequest {
  const { callId, taskId, language, code, files, stdin, environment, workspaceId } = message;
  const limits = limitsOf(message.limits);
  const given = files.map(({ path, content, executable }) => ({ path, content, executable }));
  return {
    callId,
    taskId,
    language,
    code,
    files: given,
    arguments: message.arguments,
    stdin,
    environment,
    limits,
    workspaceId,
  };
}

function limitsOf(message: LimitsMessage | undefined): Limits {
  return {
    wallMs: millisecondsOf("limits.wall_time", message?.wallTime),
    memoryBytes: Number(message?.memoryBytes ?? 0n),
    cpuMillis: message?.cpuMillis ?? 0,
    processes: message?.processes ?? 0,
    outputBytes: Number(message?.outputBytes ?? 0n),
    compileMs: millisecondsOf("limits.compile_time", message?.compileTime),
    cpuTimeMs: millisecondsOf("limits.cpu_time", message?.cpuTime),
  };
}
