import type { ServiceImpl } from "@connectrpc/connect";
import { InterceptorService } from "@drover/proto/hook/v1/interceptor_service";
import { type Tool, ToolProviderService } from "@drover/proto/tool/v1/tool_provider_service";
import { type Caller, callerOf, createIdentityVerifier, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics } from "@drover/runtime";

type Provider = ServiceImpl<typeof ToolProviderService>;
type Hook = ServiceImpl<typeof InterceptorService>;

/** A tool as a provider lists it. */
export const listedTool = (name: string, schema: object = { type: "object" }, description = `Does ${name}.`) =>
  ({ name, description, inputSchemaJson: JSON.stringify(schema) }) as Tool;

/** One result that says `summary`. */
export const resultOf = (summary: string, text = "") =>
  ({ message: { case: "result" as const, value: { summary, text } } }) as const;

/** What a fake provider saw, and what it does; a test changes it while it runs. */
export class ProviderState {
  tools: Tool[] = [listedTool("echo")];
  readonly calls: {
    readonly callId: string;
    readonly name: string;
    readonly caller: Caller;
    readonly headers: Headers;
  }[] = [];
  readonly cancelled: string[] = [];
  /** What a call gives; by default its arguments. */
  answer: Provider["call"] = async function* ({ argumentsJson }) {
    yield resultOf(`echo ${argumentsJson}`);
  };
}

/** A team's own service of tools, and of hooks where `hook` is given, registered under `name`. */
export async function startFakeProvider(options: {
  readonly name: string;
  readonly publicKeys: string;
  readonly listen?: string;
  readonly hook?: Partial<Hook>;
}) {
  const state = new ProviderState();
  const provider: Provider = {
    list: () => ({ tools: state.tools }),
    async *call(request, context) {
      const { callId, name } = request;
      state.calls.push({ callId, name, caller: callerOf(context), headers: context.requestHeader });
      yield* state.answer(request, context);
    },
    async cancel({ callId }) {
      state.cancelled.push(callId);
      return {};
    },
  };
  const server = await startRpcServer({
    ...{ service: `tool.${options.name}`, listen: options.listen ?? "127.0.0.1:0", graceMs: 0 },
    identity: createIdentityVerifier({ publicKeys: options.publicKeys, audience: `tool.${options.name}` }),
    logger: createLogger({ service: options.name, level: "silent" }),
    metrics: createMetrics(options.name),
    routes: (router) => {
      router.service(ToolProviderService, provider);
      if (options.hook !== undefined) router.service(InterceptorService, options.hook);
    },
  });
  return { state, address: server.address, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
