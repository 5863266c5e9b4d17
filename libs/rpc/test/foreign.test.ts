import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { BadRequestSchema } from "@drover/proto/google/rpc/error_details";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { Client, credentials, loadPackageDefinition, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import { expect, test } from "vitest";
import { actingAs, connectErrorFrom } from "../src/index.ts";
import { ada, echo, startEcho } from "./echo.ts";

const serve: Parameters<typeof startEcho>[0] = (router) => router.service(EchoService, echo);

/** The messages of the echo service for a client that knows nothing of our libraries. */
const textMessage = { fields: { text: { type: "string", id: 1 } } };
const foreign = loadPackageDefinition(
  fromJSON({
    nested: {
      T: textMessage,
      S: { methods: { Echo: { requestType: "T", responseType: "T", comment: "" } } },
    },
  }),
);

test("a plain grpc-js client", async () => {
  await using fixture = await startEcho(serve);
  const { S } = foreign;
  if (typeof S !== "function") throw new Error("proto-loader has changed.");
  const definition = S.service.Echo;
  if (definition === undefined) throw new Error("proto-loader has changed.");
  const client = new Client(fixture.server.address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("x-drover-identity", await fixture.minter.mint(ada, "test"));
  const call = (text: string) =>
    new Promise<object>((resolve, reject) => {
      client.makeUnaryRequest(
        "/drover.test.v1.EchoService/Echo",
        definition.requestSerialize,
        definition.responseDeserialize,
        { text },
        metadata,
        (error, value) => (error === null ? resolve(Object(value)) : reject(error)),
      );
    });
  expect(await call("hallo")).toEqual({ text: "hallo" });
  const failure: ServiceError = await call("fail").then(
    () => Promise.reject(new Error("should fail")),
    (error: ServiceError) => error,
  );
  expect(failure).toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining("allowed") });
  expect(failure.metadata.get("grpc-status-details-bin")).toHaveLength(1);
  client.close();
});

test("connect-node's gRPC client: all kinds, errors with details", async () => {
  await using fixture = await startEcho(serve);
  const transport = createGrpcTransport({ baseUrl: `http://${fixture.server.address}` });
  const client = createClient(EchoService, transport);
  const headers = { "x-drover-identity": await fixture.minter.mint(ada, "test") };
  expect((await client.echo({ text: "a" }, { headers })).text).toBe("a");
  expect(await Array.fromAsync(client.watch({ n: 3 }, { headers }))).toHaveLength(3);
  async function* pieces() {
    for (let i = 0; i < 3; i++) yield { data: new Uint8Array(5), text: "x" };
  }
  expect(await client.upload(pieces(), { headers })).toMatchObject({ bytes: 15n, chunks: 3 });
  expect(await Array.fromAsync(client.chat(pieces(), { headers }))).toHaveLength(3);
  const failure = ConnectError.from(await client.echo({ text: "fail" }, { headers }).catch((error: unknown) => error));
  expect(failure.code).toBe(Code.InvalidArgument);
  expect(failure.findDetails(BadRequestSchema)[0]?.fieldViolations[0]).toMatchObject({
    field: "text",
    description: 'found "fail", allowed anything else',
  });
  const denied = ConnectError.from(await client.echo({ text: "a" }).catch((error: unknown) => error));
  expect(denied.code).toBe(Code.Unauthenticated);
});

test("our client against connect-node's server", async () => {
  const server = createServer(
    connectNodeAdapter({
      routes: (router) =>
        router.service(EchoService, {
          ...echo,
          echo: ({ text }) => {
            try {
              return { text: text === "fail" ? throwing() : text };
            } catch (error) {
              throw connectErrorFrom(error);
            }
          },
        }),
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await using fixture = await startEcho(serve);
  const client = createClient(EchoService, fixture.transport({ addresses: `127.0.0.1:${port}` }));
  const contextValues = actingAs(ada);
  expect((await client.echo({ text: "a" }, { contextValues })).text).toBe("a");
  expect(await Array.fromAsync(client.watch({ n: 3 }, { contextValues }))).toHaveLength(3);
  await expect(client.echo({ text: "fail" }, { contextValues })).rejects.toMatchObject({ code: "INTERNAL" });
  server.close();
});

test("reflection lists the services and gives their files with everything they import", async () => {
  await using fixture = await startEcho(serve);
  const { listServices, files } = await reflect(fixture.server.address);
  expect(listServices).toEqual(["drover.test.v1.EchoService"]);
  expect(files).toEqual(
    expect.arrayContaining([
      "drover/test/v1/echo_service.proto",
      "drover/common/v1/options.proto",
      "google/protobuf/descriptor.proto",
    ]),
  );
});

function throwing(): never {
  throw new Error("not for callers");
}

/** Asks with a message type written here by hand, so that nothing of the server's side is trusted. */
async function reflect(address: string): Promise<{ listServices: string[]; files: string[] }> {
  const types = fromJSON({
    nested: {
      Req: {
        fields: {
          fileByFilename: { type: "string", id: 3 },
          fileContainingSymbol: { type: "string", id: 4 },
          listServices: { type: "string", id: 7 },
        },
        oneofs: { messageRequest: { oneof: ["fileByFilename", "fileContainingSymbol", "listServices"] } },
      },
      Files: { fields: { fileDescriptorProto: { rule: "repeated", type: "bytes", id: 1 } } },
      Service: { fields: { name: { type: "string", id: 1 } } },
      List: { fields: { service: { rule: "repeated", type: "Service", id: 1 } } },
      Res: { fields: { files: { type: "Files", id: 4 }, list: { type: "List", id: 6 } } },
      R: {
        methods: {
          Info: { requestType: "Req", requestStream: true, responseType: "Res", responseStream: true, comment: "" },
        },
      },
    },
  });
  const { R } = loadPackageDefinition(types);
  if (typeof R !== "function" || R.service.Info === undefined) throw new Error("proto-loader has changed.");
  const { requestSerialize, responseDeserialize } = R.service.Info;
  const client = new Client(address, credentials.createInsecure());
  const call = client.makeBidiStreamRequest<
    object,
    { files?: { fileDescriptorProto: Buffer[] }; list?: { service: { name: string }[] } }
  >("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", requestSerialize, (bytes) =>
    Object(responseDeserialize(bytes)),
  );
  call.write({ listServices: "*" });
  call.write({ fileContainingSymbol: "drover.test.v1.EchoService" });
  call.write({ fileByFilename: "drover/common/v1/options.proto" });
  call.write({ fileByFilename: "google/protobuf/descriptor.proto" });
  call.end();
  const answers = await Array.fromAsync(call);
  client.close();
  return {
    listServices: answers.flatMap(({ list }) => list?.service.map(({ name }: { name: string }) => name) ?? []),
    files: answers.flatMap(
      ({ files }) =>
        files?.fileDescriptorProto.map((bytes: Buffer) => fromBinary(FileDescriptorProtoSchema, bytes).name) ?? [],
    ),
  };
}
