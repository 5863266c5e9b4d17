import type { Transport } from "@connectrpc/connect";
import type { CheckedResolver } from "@drover/egress";
import { createRpcTransport, type IdentityMinter, type RpcTransport } from "@drover/rpc";
import { joinAddress, splitAddress } from "@drover/runtime";

/** How servers of other teams are reached over gRPC. */
export interface CheckedTransportParts {
  readonly minter: IdentityMinter;
  readonly resolve: CheckedResolver;
  readonly maxMessageBytes: number;
}

/** A way to a server; disposing cancels its calls. */
export interface CheckedTransport extends AsyncDisposable {
  /**
   * A transport to the addresses that the names have now, each of them checked. The same one while they stay the same;
   * else the old one ends when what was begun on it has ended. Throws what the check throws.
   */
  use<T>(work: (transport: Transport) => Promise<T>): Promise<T>;
}

interface Opened {
  readonly transport: RpcTransport;
  readonly addresses: string;
  uses: number;
}

/**
 * A gRPC transport whose connections go to checked addresses only: names are resolved here and never by the channel, so
 * that a name cannot point somewhere else between check and use. Tokens are for `audience`.
 */
export function createCheckedTransport(
  parts: CheckedTransportParts,
  address: string,
  audience: string,
): CheckedTransport {
  const { minter, resolve, maxMessageBytes } = parts;
  const open = new Set<Opened>();
  let newest: Opened | undefined;
  /** The way of now, held for one more use. */
  const current = async (): Promise<Opened> => {
    const addresses = await checked(resolve, address);
    if (newest?.addresses === addresses) {
      newest.uses += 1;
      return newest;
    }
    const transport = createRpcTransport({ addresses, audience, minter, limits: { maxMessageBytes } });
    const old = newest;
    const opened = { transport, addresses, uses: 1 };
    newest = opened;
    open.add(opened);
    if (old?.uses === 0) await close(old);
    return opened;
  };
  const close = async (opened: Opened) => {
    open.delete(opened);
    await opened.transport[Symbol.asyncDispose]();
  };
  return {
    async use(work) {
      const opened = await current();
      try {
        return await work(opened.transport);
      } finally {
        opened.uses -= 1;
        if (opened.uses === 0 && opened !== newest) await close(opened);
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...open].map(close));
    },
  };
}

async function checked(resolve: CheckedResolver, address: string): Promise<string> {
  const one = async (part: string) => {
    const { host, port } = splitAddress(part.trim().replace(/^dns:\/\/\//, ""));
    return (await resolve(host)).map((found) => joinAddress(found.address, port));
  };
  return (await Promise.all(address.split(",").map(one))).flat().sort().join(",");
}
