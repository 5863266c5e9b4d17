import type { ModelReply, ModelRequest } from "@drover/model";
import type { ToolResult } from "../domain/tool-result.ts";
import type { CallScope } from "./ports.ts";

/** The work that calls are part of. */
export interface MiddlewareContext {
  readonly scope: CallScope;
  readonly agent: string;
  readonly signal: AbortSignal;
  /** Writes a line into the trace. */
  readonly note: (text: string) => void;
}

/** A call of a tool that is about to be run, or was. */
export interface MiddlewareCall {
  readonly callId: string;
  readonly tool: string;
  /** Exactly as they are recorded. */
  readonly argumentsJson: string;
}

/**
 * Behaviour before and after calls of models and tools. Those before run in the order of the list, those after in the
 * reverse. What a method throws stops a question to the model with that error, and becomes the result of a call of a tool.
 */
export interface Middleware {
  readonly name: string;
  /** The request that is sent in the place of this one. */
  readonly beforeModel?: (context: MiddlewareContext, request: ModelRequest) => Promise<ModelRequest>;
  /** Looks at a turn before anything follows from it. */
  readonly afterModel?: (context: MiddlewareContext, reply: ModelReply) => Promise<void>;
  /** A result that stands in the place of the call, which is then not run; undefined lets it go on. */
  readonly beforeTool?: (context: MiddlewareContext, call: MiddlewareCall) => Promise<ToolResult | undefined>;
  /** The result that stands in the place of this one. */
  readonly afterTool?: (context: MiddlewareContext, call: MiddlewareCall, result: ToolResult) => Promise<ToolResult>;
}
