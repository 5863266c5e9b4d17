import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { DroverError } from "@drover/kernel";
import { connectErrorFrom } from "@drover/rpc";

/** The only key that a fake gateway accepts. */
export const goodKey = "drv_test_key";

/** A gateway of services that the test plays, over real gRPC on a free port of loopback. */
export interface FakeGateway extends AsyncDisposable {
  readonly url: string;
}

/** Starts a gateway that checks the key, then answers from `routes`; a DroverError that is thrown goes out as the edge sends it. */
export async function startFakeGateway(routes: (router: ConnectRouter) => void): Promise<FakeGateway> {
  const sessions = new Set<{ destroy(): void }>();
  const server = createServer(
    connectNodeAdapter({
      routes,
      connect: false,
      grpcWeb: false,
      interceptors: [
        (next) => async (request) => {
          try {
            if (request.header.get("authorization") !== `Bearer ${goodKey}`) throw refused();
            return await next(request);
          } catch (error) {
            throw connectErrorFrom(error);
          }
        },
      ],
    }),
  );
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The error as the edge sends it; for streams, whose failures no interceptor sees. */
export function thrown(error: DroverError): Error {
  return connectErrorFrom(error);
}

/** Resolves when the caller has gone. */
export function untilLeft({ signal }: HandlerContext): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function refused(): DroverError {
  return new DroverError("UNAUTHENTICATED", "The request has no valid credentials.");
}
