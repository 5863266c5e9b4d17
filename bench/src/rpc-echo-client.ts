import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { actingAs, createIdentityMinter, createRpcTransport } from "@drover/rpc";

/** What one client process measured. */
export interface Measured {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  readonly cpuMicros: number;
}

/** Calls the echo service for `rpc-echo.ts`, which starts this file with an IPC channel. */
const [variant, address = "", privateKey = "", callers = "32", warmUp = "0", calls = "0"] = process.argv.slice(2);

function clientOf(): { readonly transport: Transport; readonly options: CallOptions } {
  const baseUrl = `http://${address}`;
  if (variant === "connect")
    return { transport: createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true }), options: {} };
  if (variant === "connect-grpc") return { transport: createGrpcTransport({ baseUrl }), options: {} };
  const minter = createIdentityMinter({ privateKey, issuer: "bench" });
  const caller = { tenant: "t1", subject: "bench", scopes: ["test:echo", "tasks:write"], taskId: "task-1" };
  const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  return {
    transport: createRpcTransport({ addresses: address, audience: "bench", minter }),
    options: { contextValues: actingAs(caller, trace) },
  };
}

const { transport, options } = clientOf();
const client = createClient(EchoService, transport);
const text = "x".repeat(197);

async function run(total: number): Promise<number[]> {
  const latencies: number[] = [];
  let left = total;
  const caller = async () => {
    while (left-- > 0) {
      const startedMs = performance.now();
      const answer = await client.echo({ text }, options);
      if (answer.text.length !== text.length) throw new Error("The echo is not what was sent.");
      latencies.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: Number(callers) }, caller));
  return latencies;
}

await run(Number(warmUp));
process.once("message", async () => {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const latenciesMs = await run(Number(calls));
  const seconds = (performance.now() - startedMs) / 1000;
  const used = process.cpuUsage(cpu);
  const measured: Measured = { seconds, latenciesMs, cpuMicros: used.user + used.system };
  process.send?.(measured, undefined, undefined, () => process.exit(0));
});
process.send?.("ready");
