import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { createIdentityVerifier, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics } from "@drover/runtime";

/** Serves the echo service for `rpc-echo.ts`, which starts this file with an IPC channel. */
const implementation: Partial<ServiceImpl<typeof EchoService>> = { echo: ({ text }) => ({ text }) };

async function serveOurs(publicKeys: string): Promise<string> {
  const server = await startRpcServer({
    service: "bench",
    listen: "127.0.0.1:0",
    identity: createIdentityVerifier({ publicKeys, audience: "bench" }),
    logger: createLogger({ service: "bench" }),
    metrics: createMetrics("bench"),
    routes: (router) => router.service(EchoService, implementation),
    graceMs: 0,
  });
  return server.address;
}

async function serveConnect(): Promise<string> {
  const server = createServer(connectNodeAdapter({ routes: (router) => router.service(EchoService, implementation) }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return `127.0.0.1:${port}`;
}

const [variant, publicKeys = ""] = process.argv.slice(2);
const address = variant === "ours" ? await serveOurs(publicKeys) : await serveConnect();
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit(0));
process.send?.(address);
