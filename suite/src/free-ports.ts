import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { SuiteFailure } from "./failure.ts";

/** Loopback ports that are free now; all are held until the last is known, so they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listenOn(0)));
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("A loopback port could not be bound.");
    return address.port;
  });
  await Promise.all(servers.map(closed));
  return ports;
}

/** Throws {@link SuiteFailure} where one of these loopback ports is in use. */
export async function assertPortsFree(ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    const server = await listenOn(port).catch(() => undefined);
    if (server === undefined) {
      throw new SuiteFailure(`127.0.0.1:${port} is in use.`, "End what uses it (another suite?) and try again.");
    }
    await closed(server);
  }
}

async function listenOn(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}
