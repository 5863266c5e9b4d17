import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import type { MethodDefinition } from "@grpc/grpc-js";

/** A request that is not a message of its type; the handler answers INVALID_ARGUMENT. */
export class MalformedMessage {}

const malformed = new MalformedMessage();

/** `/package.Service/Method`, as it stands on the wire. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The methods of a service as grpc-js hosts them. Messages are encoded before they get there. */
export function definitionsOf(service: DescService): Record<string, MethodDefinition<unknown, Buffer>> {
  return Object.fromEntries(service.methods.map((method) => [method.localName, definitionOf(method)]));
}

function definitionOf(method: DescMethod): MethodDefinition<unknown, Buffer> {
  return {
    path: pathOf(method),
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: () => unused(),
    requestDeserialize: (bytes) => decodeOrMalformed(method.input, bytes),
    responseSerialize: (bytes) => bytes,
    responseDeserialize: () => unused(),
  };
}

/** A message from its bytes. Throws what the decoder throws. */
export function decode<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> {
  return fromBinary(schema, bytes);
}

/**
 * The bytes of a message. RESOURCE_EXHAUSTED when there are more than `maxBytes`; INTERNAL, with the
 * encoder's complaint as cause, when it is no message of the type (its type was checked where the
 * handler was registered or the client was made).
 */
export function encode<D extends DescMessage>(schema: D, init: unknown, maxBytes: number): Buffer {
  let bytes: Uint8Array;
  try {
    bytes = toBinary(schema, create(schema, init as MessageInitShape<D>));
  } catch (cause) {
    throw new DroverError("INTERNAL", "Internal error.", { cause, reason: "MESSAGE_NOT_ENCODABLE" });
  }
  if (bytes.byteLength > maxBytes) {
    throw new DroverError(
      "RESOURCE_EXHAUSTED",
      `${schema.typeName}: found ${bytes.byteLength} bytes, allowed ${maxBytes}.`,
      { reason: "MESSAGE_TOO_LARGE", retryable: false, metadata: { max_bytes: String(maxBytes) } },
    );
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function decodeOrMalformed(schema: DescMessage, bytes: Uint8Array): unknown {
  try {
    return decode(schema, bytes);
  } catch {
    return malformed;
  }
}

function unused(): never {
  throw new TypeError("A server's definition was used by a client.");
}
