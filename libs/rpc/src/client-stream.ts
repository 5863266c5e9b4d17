import type { DescMessage, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { StreamResponse } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import type { Lease } from "./channels.ts";
import { asBytes, type CallSetting, callError, type Peer, preparedMetadata } from "./client-call.ts";
import { CallState } from "./client-call-state.ts";
import { decode, encode, pathOf } from "./codec.ts";
import { headersFrom } from "./metadata.ts";
import { writeAll } from "./stream-flow.ts";

type Call = ClientDuplexStream<Buffer, Buffer>;

/**
 * One call of any streaming kind: on the wire they are the same. Resolves when the server's headers are
 * there or the call has ended; the messages are read as fast as they are asked for, and leaving the
 * loop cancels the call. `lease` is released when the call has ended. Errors are DroverErrors.
 */
export async function callStream<I extends DescMessage, O extends DescMessage>(
  lease: Lease,
  peer: Peer,
  method: DescMethodStreaming<I, O>,
  input: AsyncIterable<MessageInitShape<I>>,
  setting: CallSetting,
): Promise<StreamResponse<I, O>> {
  const { signal } = setting;
  let call: Call;
  try {
    const metadata = await preparedMetadata(peer, setting);
    const deadline = setting.timeoutMs === undefined ? {} : { deadline: Date.now() + setting.timeoutMs };
    call = lease.client.makeBidiStreamRequest<Buffer, Buffer>(pathOf(method), asBytes, asBytes, metadata, deadline);
  } catch (error) {
    lease.release();
    throw error;
  }
  const state = new CallState(call, signal, () => lease.release());
  void sendAll(call, state, method, input, peer.limits.maxMessageBytes);
  await state.opened;
  const headersOf = (metadata: Metadata | undefined) =>
    metadata === undefined ? new Headers() : headersFrom(metadata);
  return {
    stream: true,
    method,
    service: method.parent,
    message: receive(call, state, peer, method, signal),
    get header() {
      return headersOf(state.header);
    },
    get trailer() {
      return headersOf(state.trailer);
    },
  };
}

async function sendAll<I extends DescMessage, O extends DescMessage>(
  call: Call,
  state: CallState,
  method: DescMethodStreaming<I, O>,
  input: AsyncIterable<MessageInitShape<I>>,
  maxBytes: number,
): Promise<void> {
  try {
    await writeAll(input, call, state, (message) => encode(method.input, message, maxBytes));
    if (state.abortReason === undefined) call.end();
  } catch (error) {
    state.fail(error);
  }
}

async function* receive<I extends DescMessage, O extends DescMessage>(
  call: Call,
  state: CallState,
  peer: Peer,
  method: DescMethodStreaming<I, O>,
  signal: AbortSignal | undefined,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  try {
    for await (const bytes of call) yield decode(method.output, bytes);
    if (state.error !== undefined) throw state.error;
  } catch (error) {
    throw state.failure === undefined ? callError(error, peer, method, signal) : DroverError.from(state.failure);
  } finally {
    call.cancel();
  }
}
