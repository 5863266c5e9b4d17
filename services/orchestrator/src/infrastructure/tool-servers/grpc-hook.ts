import { type CallOptions, type Client, createClient } from "@connectrpc/connect";
import { DroverError, headOf } from "@drover/kernel";
import type { ModelRequest } from "@drover/model";
import { InterceptorService } from "@drover/proto/hook/v1/interceptor_service";
import { redact } from "@drover/redaction";
import type { Middleware, MiddlewareContext } from "../../application/middleware-ports.ts";
import type { Hook } from "../../application/tool-source-ports.ts";
import { toolFailure } from "../../domain/tool-result.ts";
import type { ToolServer } from "../../domain/tool-server.ts";
import { actingFor } from "../acting-for.ts";
import type { CheckedTransport } from "./checked-transport.ts";

/** Characters of a result that a hook is sent, of what it may put in its place, and of its words. */
const most = { text: 65_536, words: 4_000 } as const;

type Points = Required<Omit<Middleware, "name">>;

/** Asks the service. Undefined where it does not answer and work goes on without it. */
type Ask = <T>(
  context: MiddlewareContext,
  question: (client: Client<typeof InterceptorService>, options: CallOptions) => Promise<T>,
) => Promise<T | undefined>;

/** A team's own service that is asked before and after calls, at the points that its row names. */
export function createGrpcHook(
  way: CheckedTransport,
  server: ToolServer,
  headers: () => Promise<Record<string, string>>,
): Hook {
  const ask = asking(way, server, headers);
  const models = modelPoints(server.name, ask);
  const tools = toolPoints(server.name, ask);
  const { points } = server;
  return {
    name: `the hook ${server.name}`,
    ...(points.includes("before_model") ? { beforeModel: models.beforeModel } : {}),
    ...(points.includes("after_model") ? { afterModel: models.afterModel } : {}),
    ...(points.includes("before_tool") ? { beforeTool: tools.beforeTool } : {}),
    ...(points.includes("after_tool") ? { afterTool: tools.afterTool } : {}),
    [Symbol.asyncDispose]: () => way[Symbol.asyncDispose](),
  };
}

function asking(way: CheckedTransport, server: ToolServer, headers: () => Promise<Record<string, string>>): Ask {
  const { name, timeoutMs, failOpen } = server;
  return async (context, question) => {
    try {
      const acting = actingFor(context.scope, ["hooks:call"], context.signal);
      const options = { ...acting, headers: await headers(), timeoutMs };
      return await way.use((transport) => question(createClient(InterceptorService, transport), options));
    } catch (fault) {
      if (context.signal.aborted) throw fault;
      const { message } = DroverError.from(fault);
      if (failOpen) {
        context.note(`The hook ${name} did not answer, and work goes on without it: ${message}`);
        return undefined;
      }
      throw new DroverError(
        "UNAVAILABLE",
        `The hook ${name} did not answer, and nothing may be done without it: ${message}`,
        {
          reason: "HOOK_UNAVAILABLE",
          retryable: false,
        },
      );
    }
  };
}

function modelPoints(name: string, ask: Ask): Pick<Points, "beforeModel" | "afterModel"> {
  return {
    async beforeModel(context, request) {
      const tools = request.tools?.map((tool) => tool.name) ?? [];
      const question = { ...workOf(context), model: request.model ?? "", messages: request.messages.length, tools };
      const answer = await ask(context, (client, options) => client.beforeModel(question, options));
      refuse(name, answer?.refusal);
      return instructed(request, headOf(answer?.instructions ?? "", most.words));
    },
    async afterModel(context, { model, decision }) {
      const text = "text" in decision ? redact(decision.text).text : "";
      const tools = decision.kind === "tool_calls" ? decision.toolCalls.map((call) => call.name) : [];
      const question = { ...workOf(context), model, text, tools };
      const answer = await ask(context, (client, options) => client.afterModel(question, options));
      refuse(name, answer?.refusal);
    },
  };
}

function toolPoints(name: string, ask: Ask): Pick<Points, "beforeTool" | "afterTool"> {
  return {
    async beforeTool(context, { callId, tool, argumentsJson }) {
      const question = { ...workOf(context), callId, tool, argumentsJson };
      const answer = await ask(context, (client, options) => client.beforeTool(question, options));
      if (answer === undefined || answer.refusal === "") return undefined;
      const why = headOf(answer.refusal, most.words);
      return toolFailure("DENIED_BY_HOOK", `The hook ${name} does not allow this call; it was not run: ${why}`);
    },
    async afterTool(context, { callId, tool }, result) {
      const text = headOf(redact(result.text).text, most.text);
      const { ok, errorCode } = result;
      const question = { ...workOf(context), callId, tool, ok, errorCode, text };
      const answer = await ask(context, (client, options) => client.afterTool(question, options));
      return answer?.text === undefined ? result : { ...result, text: headOf(answer.text, most.text) };
    },
  };
}

function workOf({ scope, agent }: MiddlewareContext) {
  return { taskId: scope.taskId, agent };
}

function instructed(request: ModelRequest, words: string): ModelRequest {
  if (words === "") return request;
  const [first, ...rest] = request.messages;
  if (first?.role !== "system") return { ...request, messages: [{ role: "system", text: words }, ...request.messages] };
  return { ...request, messages: [{ ...first, text: `${first.text}\n\n${words}` }, ...rest] };
}

function refuse(name: string, refusal: string | undefined): void {
  if (refusal === undefined || refusal === "") return;
  const message = `The hook ${name} refused: ${headOf(redact(refusal).text, most.words)}`;
  throw new DroverError("FAILED_PRECONDITION", message, { reason: "HOOK_REFUSED", retryable: false });
}
