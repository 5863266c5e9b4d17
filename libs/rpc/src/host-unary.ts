import type { DescMethod } from "@bufbuild/protobuf";
import { invalidField } from "@drover/kernel";
import type { handleUnaryCall, Metadata } from "@grpc/grpc-js";
import { deadlineTimer, type MethodRunner, runCall } from "./call-runner.ts";
import { encode, MalformedMessage } from "./codec.ts";
import { statusOf } from "./error-mapping.ts";
import type { RpcServerLimits } from "./limits.ts";
import { metadataFrom } from "./metadata.ts";
import { nulIn } from "./nul-check.ts";
import type { RpcContext } from "./rpc-context.ts";

/** An implementation whose message types have been checked where it was registered. */
export type UnaryImplementation = (request: unknown, context: RpcContext) => unknown;

/** Hosts a unary method. A call always has a deadline: its own, capped, or the default. */
export function hostUnary(
  method: DescMethod,
  implementation: UnaryImplementation,
  runner: MethodRunner,
  limits: RpcServerLimits,
): handleUnaryCall<unknown, Buffer> {
  return (call, respond) => {
    const now = Date.now();
    const asked = Number(call.getDeadline());
    const deadlineMs = Math.min(
      asked,
      now + (asked === Number.POSITIVE_INFINITY ? limits.defaultUnaryMs : limits.maxUnaryMs),
    );
    const work = async (context: RpcContext) => {
      const stop = deadlineMs < asked ? deadlineTimer(context, deadlineMs - now) : undefined;
      try {
        requireSound(method, call.request);
        const response = encode(method.output, await implementation(call.request, context), limits.maxMessageBytes);
        if (context.abortReason !== undefined) throw context.abortReason;
        if (context.sentHeader !== undefined) call.sendMetadata(metadataFrom(context.sentHeader));
        respond(null, response, trailerOf(context));
      } finally {
        stop?.();
      }
    };
    void runCall(runner, call, "unary", deadlineMs, work, (error) => respond(statusOf(error)));
  };
}

/** The trailers that the handler set, if any. */
export function trailerOf(context: RpcContext): Metadata | undefined {
  return context.sentTrailer === undefined ? undefined : metadataFrom(context.sentTrailer);
}

/** INVALID_ARGUMENT for bytes that are not a message of the method's type, and for text that holds a NUL. */
export function requireSound(method: DescMethod, request: unknown): void {
  const { input } = method;
  if (request instanceof MalformedMessage) {
    throw invalidField("request", "bytes that do not decode", `a ${input.typeName}`);
  }
  const fault = nulIn(input, request);
  if (fault !== undefined) throw fault;
}
