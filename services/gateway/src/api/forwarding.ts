import type { DescMessage, DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext, MethodImpl, Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { actingAs, connectErrorFrom } from "@drover/rpc";
import { newTraceContext, parseTraceparent } from "@drover/tracing";
import { cappedTimeout } from "../domain/grpc-timeout.ts";
import type { ActiveCalls } from "./active-calls.ts";
import { type AdmittedMethod, admittedMethod } from "./admission.ts";
import { principalOf } from "./edge-context.ts";
import type { DeadlineLimits } from "./grpc-copy.ts";

type Input = MessageShape<DescMessage>;

/**
 * The implementation of any method of a service by a call of the same method over `transport`, as the caller whom
 * the interceptor found. Cancellation, deadline and errors pass; a drain ends watches at once.
 */
export function forwardingTo(
  transport: Transport,
  calls: ActiveCalls,
  limits: DeadlineLimits,
): (method: DescMethod) => MethodImpl<DescMethod> {
  return (method) => {
    const admitted = admittedMethod(`/${method.parent.typeName}/${method.name}`);
    const begin = (context: HandlerContext) => new ForwardedCall(admitted, context, calls, limits);

    async function one(input: Input, context: HandlerContext) {
      using call = begin(context);
      const { signal, timeoutMs, values } = call;
      const answer = await call.vocabulary(transport.unary(method as never, signal, timeoutMs, {}, input, values));
      return answer.message;
    }

    async function* many(inputs: AsyncIterable<Input>, context: HandlerContext) {
      using call = begin(context);
      const { signal, timeoutMs, values } = call;
      const sent = inputs as AsyncIterable<MessageInitShape<DescMessage>>;
      try {
        const answer = await transport.stream(method as never, signal, timeoutMs, {}, sent as never, values);
        yield* answer.message as AsyncIterable<Input>;
      } catch (error) {
        throw connectErrorFrom(error);
      }
    }

    switch (method.methodKind) {
      case "unary":
        return one as MethodImpl<DescMethod>;
      case "server_streaming":
        return ((input: Input, context: HandlerContext) => many(only(input), context)) as MethodImpl<DescMethod>;
      case "client_streaming":
        return (async (inputs: AsyncIterable<Input>, context: HandlerContext) => {
          for await (const answer of many(inputs, context)) return answer;
          throw connectErrorFrom(new DroverError("INTERNAL", "The service ended without an answer."));
        }) as MethodImpl<DescMethod>;
      case "bidi_streaming":
        return many as MethodImpl<DescMethod>;
    }
  };
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item;
}

class ForwardedCall implements Disposable {
  readonly signal: AbortSignal;
  readonly timeoutMs: number | undefined;
  readonly values: ReturnType<typeof actingAs>;
  readonly resumable: boolean;
  readonly #drain = new AbortController();
  readonly #calls: ActiveCalls;

  constructor(
    { resumable, unary }: AdmittedMethod,
    context: HandlerContext,
    calls: ActiveCalls,
    limits: DeadlineLimits,
  ) {
    const { tenant, subject, scopes } = principalOf(context.values);
    const trace = parseTraceparent(context.requestHeader.get("traceparent") ?? "") ?? newTraceContext();
    this.values = actingAs({ tenant, subject, scopes }, trace);
    const asked = context.timeoutMs();
    if (unary) this.timeoutMs = cappedTimeout(asked, limits.unaryMs);
    else this.timeoutMs = asked === undefined ? undefined : cappedTimeout(asked, limits.streamMs);
    this.resumable = resumable;
    this.signal = AbortSignal.any([context.signal, this.#drain.signal]);
    this.#calls = calls;
    calls.add(this);
  }

  end(error: DroverError): void {
    this.#drain.abort(error);
  }

  async vocabulary<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw connectErrorFrom(error);
    }
  }

  [Symbol.dispose](): void {
    this.#calls.delete(this);
  }
}
