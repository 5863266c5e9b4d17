import { DroverError } from "@drover/kernel";
import type { ModelReply, ModelRequest } from "@drover/model";
import { type ToolResult, toolFailure } from "../domain/tool-result.ts";
import type { Middleware, MiddlewareCall, MiddlewareContext } from "./middleware-ports.ts";

/** Asks a model through the chain: the request may be changed or refused before, the reply refused after. */
export async function throughModel<T extends { readonly reply: ModelReply }>(
  chain: readonly Middleware[],
  context: MiddlewareContext,
  request: ModelRequest,
  ask: (request: ModelRequest) => Promise<T>,
): Promise<T> {
  let sent = request;
  for (const { beforeModel } of chain) {
    if (beforeModel !== undefined) sent = await beforeModel(context, sent);
  }
  const turn = await ask(sent);
  for (const { afterModel } of chain.toReversed()) await afterModel?.(context, turn.reply);
  return turn;
}

/**
 * Runs a call of a tool through the chain. What stands in the place of the call passes those after all the same, so that
 * each of them sees every result. Never throws where `run` does not.
 */
export async function throughTool(
  chain: readonly Middleware[],
  context: MiddlewareContext,
  call: MiddlewareCall,
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
  let result = await standIn(chain, context, call);
  result ??= await run();
  for (const { name, afterTool } of chain.toReversed()) {
    if (afterTool === undefined) continue;
    const before: ToolResult = result;
    result = await afterTool(context, call, before).catch((fault: unknown) => failed(name, fault, before));
  }
  return result;
}

async function standIn(
  chain: readonly Middleware[],
  context: MiddlewareContext,
  call: MiddlewareCall,
): Promise<ToolResult | undefined> {
  for (const { name, beforeTool } of chain) {
    const result = await beforeTool?.(context, call).catch((fault: unknown) => failed(name, fault));
    if (result !== undefined) return result;
  }
  return undefined;
}

/** A result that nobody may see is withheld; that its outcome is unknown stays known. */
function failed(name: string, fault: unknown, result?: ToolResult): ToolResult {
  if (result?.errorCode === "OUTCOME_UNKNOWN") return result;
  const { message } = DroverError.from(fault);
  const what = result === undefined ? "The call was not run" : "The call was run, and its result is withheld";
  return toolFailure("MIDDLEWARE_FAILED", `${what}: ${name} failed: ${message}`);
}
