import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField, isId } from "@drover/kernel";
import { type ExecService, OutputChunkSchema } from "@drover/proto/sandbox/v1/exec_service";
import { callerOf, traceOf } from "@drover/rpc";
import type { ReadOutput } from "../application/read-output.ts";
import type { ShellCommands } from "../application/shell-commands.ts";
import type { OutputSlice } from "../domain/output-slice.ts";
import { executionMessage } from "./execution-message.ts";

/** What the handlers delegate to. */
export interface ShellParts {
  readonly commands: ShellCommands;
  readonly output: ReadOutput;
}

type Handlers = Pick<ServiceImpl<typeof ExecService>, "start" | "read" | "writeInput" | "signal" | "endSession">;

/** The handlers of ExecService for commands of sessions, and for reading what is running. */
export function shellService({ commands, output }: ShellParts): Handlers {
  return {
    async start(message, context) {
      const { callId, taskId, workspaceId, command, environment, background, allowedCommands } = message;
      const caller = { tenant: callerOf(context).tenant, trace: traceOf(context) };
      const timeoutMs = milliseconds(message.timeout);
      const request = { callId, taskId, workspaceId, command, environment, timeoutMs, background, allowedCommands };
      const { execution, existing } = await commands.start(caller, request);
      return { execution: executionMessage(execution), existing };
    },
    async read(message, context) {
      const { stdoutOffset, stderrOffset, maxBytes, filter, untilEnded } = message;
      const request = {
        id: checkedId(message.executionId),
        stdoutOffset: Number(stdoutOffset),
        stderrOffset: Number(stderrOffset),
        maxBytes,
        filter,
        waitMs: milliseconds(message.wait),
        untilEnded,
      };
      const { execution, stdout, stderr } = await output.read(callerOf(context).tenant, request, context.signal);
      const told = executionMessage(execution);
      for (const facts of [told.stdout, told.stderr]) {
        if (facts !== undefined) Object.assign(facts, { head: new Uint8Array(), tail: new Uint8Array() });
      }
      return { execution: told, stdout: chunkMessage(stdout), stderr: chunkMessage(stderr) };
    },
    writeInput({ executionId, data, offset, close }, context) {
      const request = { id: executionId, data, offset: Number(offset), close };
      return { bytesWritten: BigInt(commands.writeInput(callerOf(context).tenant, request)) };
    },
    async endSession({ taskId }, context) {
      await commands.endSession(callerOf(context).tenant, taskId);
      return {};
    },
    async signal({ executionId, grace }, context) {
      const id = checkedId(executionId);
      const ended = await output.end(callerOf(context).tenant, id, milliseconds(grace), context.signal);
      return { execution: executionMessage(ended) };
    },
  };
}

function chunkMessage({ offset, data, next, missing, seen }: OutputSlice) {
  return create(OutputChunkSchema, {
    offset: BigInt(offset),
    data: new Uint8Array(data),
    nextOffset: BigInt(next),
    missingBytes: BigInt(missing),
    bytesSeen: BigInt(seen),
  });
}

function milliseconds(duration: Duration | undefined): number {
  return duration === undefined ? 0 : Number(duration.seconds) * 1000 + Math.trunc(duration.nanos / 1e6);
}

function checkedId(id: string): string {
  if (!isId(id)) throw invalidField("execution_id", JSON.stringify(id.slice(0, 40)), "a lower-case UUID");
  return id;
}
