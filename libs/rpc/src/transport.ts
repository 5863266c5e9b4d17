import type { Transport } from "@connectrpc/connect";
import { createChannels } from "./channels.ts";
import { callStream } from "./client-stream.ts";
import { callUnary } from "./client-unary.ts";
import type { IdentityMinter } from "./identity-minter.ts";
import { defaultClientLimits, type RpcClientLimits } from "./limits.ts";
import { targetsOf } from "./targets.ts";

/** A Connect transport over gRPC channels; disposing of it cancels its calls and closes its connections. */
export interface RpcTransport extends Transport, AsyncDisposable {}

/**
 * A transport to one peer service. Calls go round over all addresses; unary calls and streams have channels
 * of their own, so that no number of open streams holds up a unary call. Every unary call has a deadline.
 *
 * With context values of `actingAs` a call carries a token for `audience` and a `traceparent`. All failures
 * are thrown as DroverError: a peer that nobody can reach as UNAVAILABLE that names it, an abort with the
 * signal's reason, a refusal of the peer with its code and details.
 */
export function createRpcTransport(options: {
  /** A comma list of `host:port`, or `dns:///name:port`. */
  readonly addresses: string | readonly string[];
  /** The service that is called; the audience of the tokens. */
  readonly audience: string;
  readonly minter?: IdentityMinter;
  readonly limits?: Partial<RpcClientLimits>;
}): RpcTransport {
  const limits: RpcClientLimits = { ...defaultClientLimits, ...options.limits };
  const addresses = typeof options.addresses === "string" ? options.addresses : options.addresses.join(",");
  const peer = { audience: options.audience, addresses, minter: options.minter, limits };
  const channels = createChannels(targetsOf(addresses), limits);
  return {
    unary: async (method, signal, timeoutMs, header, input, values) =>
      callUnary(channels.unary(), peer, method, input, { signal, timeoutMs, header, values }),
    stream: async (method, signal, timeoutMs, header, input, values) =>
      callStream(channels.stream(), peer, method, input, { signal, timeoutMs, header, values }),
    async [Symbol.asyncDispose]() {
      channels.close();
    },
  };
}
