import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import type { EchoService } from "@drover/proto/test/v1/echo_service";
import { createLogger, createMetrics, type Metrics } from "@drover/runtime";
import {
  type Caller,
  createIdentityMinter,
  createIdentityVerifier,
  createRpcTransport,
  generateIdentityKeys,
  type IdentityMinter,
  type RpcServer,
  type RpcServerOptions,
  type RpcTransport,
  startRpcServer,
} from "../src/index.ts";

export type EchoImplementation = Partial<ServiceImpl<typeof EchoService>>;

export const ada: Caller = { tenant: "t1", subject: "ada", scopes: ["test:echo"], taskId: "task-1" };

export const echo: EchoImplementation = {
  echo: ({ text }) => {
    if (text === "fail") throw invalidField("text", '"fail"', "anything else");
    return { text };
  },
  async *watch({ text, n }, context) {
    for (let sequence = 1; sequence <= n || n === 0; sequence++) {
      yield { text, sequence };
      if (n === 0) await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      if (context.signal.aborted) return;
    }
  },
  async upload(requests) {
    let bytes = 0n;
    let chunks = 0;
    for await (const { data } of requests) {
      bytes += BigInt(data.length);
      chunks++;
    }
    return { bytes, chunks };
  },
  async *chat(requests) {
    for await (const { text } of requests) yield { text };
  },
  closed: () => ({}),
};

/** One server, its keys, and clients of it; all are disposed of with the fixture. */
export interface EchoFixture extends AsyncDisposable {
  readonly server: RpcServer;
  readonly minter: IdentityMinter;
  readonly metrics: Metrics;
  readonly logs: Record<string, unknown>[];
  transport(options?: Partial<Parameters<typeof createRpcTransport>[0]>): RpcTransport;
}

const keys = await generateIdentityKeys();

/** A started echo server on a free port. */
export async function startEcho(
  serve: (router: Parameters<RpcServerOptions["routes"]>[0]) => void,
  options: Partial<RpcServerOptions> = {},
): Promise<EchoFixture> {
  const parts = new AsyncDisposableStack();
  const logs: Record<string, unknown>[] = [];
  const metrics = createMetrics("test");
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "test" });
  const server = parts.use(
    await startRpcServer({
      service: "test",
      listen: "127.0.0.1:0",
      identity: createIdentityVerifier({ publicKeys: keys.publicKeys, audience: "test" }),
      logger: createLogger({
        service: "test",
        level: "debug",
        destination: { write: (line) => void logs.push(JSON.parse(line)) },
      }),
      metrics,
      routes: serve,
      graceMs: 1000,
      ...options,
    }),
  );
  server.setServing(true);
  return {
    server,
    minter,
    metrics,
    logs,
    transport: (overrides = {}) =>
      parts.use(createRpcTransport({ addresses: server.address, audience: "test", minter, ...overrides })),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
