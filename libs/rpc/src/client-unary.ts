import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import type { UnaryResponse } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { Client, Metadata } from "@grpc/grpc-js";
import { asBytes, type CallSetting, callError, metadataOf, type Peer } from "./client-call.ts";
import { decode, encode, pathOf } from "./codec.ts";
import { headersFrom } from "./metadata.ts";

interface Answer {
  readonly bytes: Buffer;
  readonly header: Metadata | undefined;
  readonly trailer: Metadata | undefined;
}

/** One unary call; rejects with a DroverError. A call without a deadline gets the default one. */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  client: Client,
  peer: Peer,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  setting: CallSetting,
): Promise<UnaryResponse<I, O>> {
  const { signal } = setting;
  if (signal?.aborted) throw DroverError.from(signal.reason);
  const request = encode(method.input, input, peer.limits.maxMessageBytes);
  const prepared = metadataOf(peer, setting);
  const metadata = prepared instanceof Promise ? await prepared : prepared;
  try {
    const answer = await send(client, pathOf(method), request, metadata, deadlineOf(setting.timeoutMs, peer), signal);
    return new LazyResponse(method, decode(method.output, answer.bytes), answer);
  } catch (error) {
    throw callError(error, peer, method, signal);
  }
}

function deadlineOf(timeoutMs: number | undefined, { limits }: Peer): number {
  const asked = timeoutMs === undefined ? limits.defaultUnaryMs : timeoutMs <= 0 ? limits.maxUnaryMs : timeoutMs;
  return Date.now() + Math.min(asked, limits.maxUnaryMs);
}

function send(
  client: Client,
  path: string,
  request: Buffer,
  metadata: Metadata,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let header: Metadata | undefined;
    let trailer: Metadata | undefined;
    let bytes: Buffer | undefined;
    const call = client.makeUnaryRequest<Buffer, Buffer>(
      path,
      asBytes,
      asBytes,
      request,
      metadata,
      { deadline },
      (error, value) => {
        signal?.removeEventListener("abort", cancel);
        if (error === null) bytes = value;
        else reject(error);
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    call.on("metadata", (received: Metadata) => {
      header = received;
    });
    // The status follows the callback within the same turn, and brings the trailers.
    call.on("status", (ended: { readonly metadata?: Metadata }) => {
      trailer = ended.metadata;
      if (bytes !== undefined) resolve({ bytes, header, trailer });
    });
  });
}

/** A response whose headers are made when somebody looks at them, which is seldom. */
class LazyResponse<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false;
  readonly method: UnaryResponse<I, O>["method"];
  readonly service: UnaryResponse<I, O>["service"];
  readonly message: UnaryResponse<I, O>["message"];
  readonly #answer: Answer;

  constructor(method: DescMethodUnary<I, O>, message: UnaryResponse<I, O>["message"], answer: Answer) {
    this.method = method;
    this.service = method.parent;
    this.message = message;
    this.#answer = answer;
  }

  get header(): Headers {
    return this.#answer.header === undefined ? new Headers() : headersFrom(this.#answer.header);
  }

  get trailer(): Headers {
    return this.#answer.trailer === undefined ? new Headers() : headersFrom(this.#answer.trailer);
  }
}
