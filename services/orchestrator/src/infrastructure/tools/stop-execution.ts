import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { type Execution, ExecutionState } from "@drover/proto/sandbox/v1/exec";
import type { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import type { ToolContext } from "../../application/tool-ports.ts";
import { actingFor } from "../acting-for.ts";

const pollMs = 100;
const scopes = ["exec:run", "exec:read"];

/**
 * The end of what runs under a call id, which is the proof that it has stopped. `kill` ends it first; without it
 * somebody else has told it to end. Undefined where the sandbox has never heard of it. A sandbox that does not answer
 * is asked again until the signal aborts, which throws.
 */
export async function stoppedExecution(
  client: Client<typeof ExecService>,
  context: ToolContext,
  callId: string,
  { kill, signal }: { readonly kill: boolean; readonly signal: AbortSignal },
): Promise<Execution | undefined> {
  for (;;) {
    try {
      const options = actingFor(context, scopes, signal);
      const { execution } = await client.getExecution({ key: { case: "callId", value: callId } }, options);
      if (execution === undefined || execution.state === ExecutionState.ENDED) return execution;
      if (kill) await client.signal({ executionId: execution.id }, options);
    } catch (caught) {
      const error = DroverError.from(caught);
      if (error.code === "NOT_FOUND") return undefined;
      if (signal.aborted || !error.retryable) throw error;
    }
    await delay(pollMs, undefined, { signal });
  }
}
