import {
  create,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type CallOptions, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";

/** A plain @grpc/grpc-js client, as another team would use it. */
export class GrpcClient implements Disposable {
  readonly raw: Client;

  constructor(address: string) {
    this.raw = new Client(address, credentials.createInsecure(), {
      "grpc.enable_retries": 0,
      // Otherwise all clients of a process share one connection, and its limit of streams.
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  unary<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M["input"]>,
    headers: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<{ message: MessageShape<M["output"]>; headers: Metadata; trailers: Metadata }> {
    return new Promise((resolve, reject) => {
      let received = new Metadata();
      let trailers = new Metadata();
      const call = this.raw.makeUnaryRequest(
        pathOf(method),
        (message: MessageShape<M["input"]>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request) as MessageShape<M["input"]>,
        metadataOf(headers),
        options,
        (error: ServiceError | null, message) => {
          if (error !== null) reject(error);
          else
            setImmediate(() => resolve({ message: message as MessageShape<M["output"]>, headers: received, trailers }));
        },
      );
      call.on("metadata", (metadata) => {
        received = metadata;
      });
      call.on("status", (status) => {
        trailers = status.metadata;
      });
    });
  }

  stream<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M["input"]>,
    headers: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ) {
    return this.raw.makeServerStreamRequest(
      pathOf(method),
      (message: MessageShape<M["input"]>) => Buffer.from(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, request) as MessageShape<M["input"]>,
      metadataOf(headers),
      options,
    );
  }

  [Symbol.dispose](): void {
    this.raw.close();
  }
}

/** `/package.Service/Method`. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

export function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.add(name, value);
  return metadata;
}
