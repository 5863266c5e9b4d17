import { type CallOptions, createClient } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { type Result, ToolProviderService } from "@drover/proto/tool/v1/tool_provider_service";
import { actingAs } from "@drover/rpc";
import type { CallScope } from "../../application/ports.ts";
import type { SourceResult, ToolSource } from "../../application/tool-source-ports.ts";
import type { ForeignTool } from "../../domain/foreign-tools.ts";
import { actingFor } from "../acting-for.ts";
import type { CheckedTransport } from "./checked-transport.ts";

/** How long a cancel may take, ms. */
const cancelMs = 5_000;

/** Tools of a team's own gRPC service. It is not told of changes: its list is asked for again and again. */
export function createGrpcSource(
  way: CheckedTransport,
  tenant: string,
  headers: () => Promise<Record<string, string>>,
): ToolSource {
  const optionsFor = async (scope: CallScope, signal: AbortSignal): Promise<CallOptions> => ({
    ...actingFor(scope, ["tools:call"], signal),
    headers: await headers(),
  });
  const cancel = async (callId: string, scope: CallScope, signal: AbortSignal) => {
    const options = await optionsFor(scope, signal);
    await way.use((transport) => createClient(ToolProviderService, transport).cancel({ callId }, options));
  };
  return {
    async list(signal) {
      // A list is asked for on behalf of nobody in particular.
      const contextValues = actingAs({ tenant, subject: "orchestrator", scopes: ["tools:call"] });
      const options = { signal, contextValues, headers: await headers() };
      const list = await way.use((transport) => createClient(ToolProviderService, transport).list({}, options));
      return list.tools.map(({ name, description, inputSchemaJson }): ForeignTool => {
        return { name, description, inputSchema: schemaOf(inputSchemaJson) };
      });
    },
    async call(name, args, { callId, scope, onProgress, signal }) {
      const options = await optionsFor(scope, signal);
      const request = { callId, name, argumentsJson: JSON.stringify(args) };
      try {
        return await way.use(async (transport) => {
          for await (const { message } of createClient(ToolProviderService, transport).call(request, options)) {
            if (message.case === "progress") onProgress(message.value.text);
            if (message.case === "result") return resultOf(message.value);
          }
          throw new DroverError("UNAVAILABLE", "The server ended the call without a result.");
        });
      } catch (error) {
        // The end of the stream says it too; a server behind a proxy may not hear of that.
        if (signal.aborted) cancel(callId, scope, AbortSignal.timeout(cancelMs)).catch(() => undefined);
        throw error;
      }
    },
    cancel,
    onChanged: () => ({ [Symbol.dispose]: () => undefined }),
    [Symbol.asyncDispose]: () => way[Symbol.asyncDispose](),
  };
}

function schemaOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function resultOf({ isError, summary, text, errorCode, retryable }: Result): SourceResult {
  const content = text === "" ? [] : [{ kind: "text" as const, text }];
  const code = errorCode === "" ? {} : { errorCode };
  return { outcome: "known", isError, content, summary, ...code, retryable };
}
