import type { DescMethod } from "@bufbuild/protobuf";
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  Metadata,
} from "@grpc/grpc-js";
import { type MethodRunner, runCall } from "./call-runner.ts";
import { encode } from "./codec.ts";
import { statusOf } from "./error-mapping.ts";
import { requireSound, trailerOf } from "./host-unary.ts";
import type { RpcServerLimits } from "./limits.ts";
import { metadataFrom } from "./metadata.ts";
import type { RpcContext } from "./rpc-context.ts";
import { type MessageWriter, type ObjectReader, readAll, writeAll } from "./stream-flow.ts";

/** An implementation that yields its answers. */
export type StreamImplementation = (request: unknown, context: RpcContext) => AsyncIterable<unknown>;

/** Hosts a client-streaming method; it has no deadline but its caller's. */
export function hostClientStream(
  method: DescMethod,
  implementation: (requests: unknown, context: RpcContext) => unknown,
  runner: MethodRunner,
  limits: RpcServerLimits,
): handleClientStreamingCall<unknown, Buffer> {
  return (call, respond) => {
    const work = async (context: RpcContext) => {
      const requests = requestsOf(method, call, context);
      const response = encode(method.output, await implementation(requests, context), limits.maxMessageBytes);
      if (context.abortReason !== undefined) throw context.abortReason;
      if (context.sentHeader !== undefined) call.sendMetadata(metadataFrom(context.sentHeader));
      respond(null, response, trailerOf(context));
    };
    void runCall(runner, call, "stream", Number(call.getDeadline()), work, (error) => respond(statusOf(error)));
  };
}

/** Hosts a server-streaming method. */
export function hostServerStream(
  method: DescMethod,
  implementation: StreamImplementation,
  runner: MethodRunner,
  limits: RpcServerLimits,
): handleServerStreamingCall<unknown, Buffer> {
  return (call) => {
    const work = async (context: RpcContext) => {
      requireSound(method, call.request);
      await answer(method, implementation(call.request, context), call, context, limits);
    };
    void runCall(runner, call, "stream", Number(call.getDeadline()), work, (error) =>
      call.emit("error", statusOf(error)),
    );
  };
}

/** Hosts a method that streams both ways. */
export function hostBidiStream(
  method: DescMethod,
  implementation: StreamImplementation,
  runner: MethodRunner,
  limits: RpcServerLimits,
): handleBidiStreamingCall<unknown, Buffer> {
  return (call) => {
    const work = (context: RpcContext) =>
      answer(method, implementation(requestsOf(method, call, context), context), call, context, limits);
    void runCall(runner, call, "stream", Number(call.getDeadline()), work, (error) =>
      call.emit("error", statusOf(error)),
    );
  };
}

interface StreamCall extends MessageWriter {
  sendMetadata(metadata: Metadata): void;
  end(trailer?: Metadata): unknown;
}

/**
 * Writes all answers. The headers leave with the first of them or one turn of the event loop after the
 * start, whichever is first: a quiet stream is then still seen to be open by everything in between.
 */
async function answer(
  method: DescMethod,
  answers: AsyncIterable<unknown>,
  call: StreamCall,
  context: RpcContext,
  limits: RpcServerLimits,
): Promise<void> {
  let sent = false;
  const sendHeader = () => {
    if (sent || context.abortReason !== undefined) return;
    sent = true;
    call.sendMetadata(context.sentHeader === undefined ? new Metadata() : metadataFrom(context.sentHeader));
  };
  const soon = setImmediate(sendHeader);
  try {
    await writeAll(answers, call, context, (message) => {
      sendHeader();
      return encode(method.output, message, limits.maxMessageBytes);
    });
  } finally {
    clearImmediate(soon);
  }
  if (context.abortReason !== undefined) throw context.abortReason;
  sendHeader();
  call.end(trailerOf(context));
}

async function* requestsOf(
  method: DescMethod,
  call: ObjectReader,
  context: RpcContext,
): AsyncGenerator<unknown, void, undefined> {
  try {
    for await (const request of readAll(call)) {
      requireSound(method, request);
      yield request;
    }
  } catch (error) {
    throw context.abortReason ?? error;
  }
}
