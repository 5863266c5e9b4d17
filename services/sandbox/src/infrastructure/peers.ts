import { type Client, createClient } from "@connectrpc/connect";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { createRpcTransport, type RpcTransport } from "@drover/rpc";

/** Clients of the service's other instances; disposing closes their connections. */
export interface Peers extends AsyncDisposable {
  /** The instance at `host:port`. */
  at(address: string): Client<typeof ExecService>;
}

/** Instances come and go under new addresses; of so many the connections are kept. */
const mostPeers = 256;

interface Peer {
  readonly transport: RpcTransport;
  readonly client: Client<typeof ExecService>;
}

/** Connects to an instance at the first call to it. */
export function openPeers(maxMessageBytes: number): Peers {
  const peers = new Map<string, Peer>();
  return {
    at(address) {
      const known = peers.get(address);
      peers.delete(address);
      const peer = known ?? connect(address, maxMessageBytes);
      peers.set(address, peer);
      const [oldest] = peers;
      if (oldest !== undefined && peers.size > mostPeers) {
        peers.delete(oldest[0]);
        void oldest[1].transport[Symbol.asyncDispose]();
      }
      return peer.client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...peers.values()].map(({ transport }) => transport[Symbol.asyncDispose]()));
    },
  };
}

function connect(address: string, maxMessageBytes: number): Peer {
  const transport = createRpcTransport({ addresses: address, audience: "sandbox", limits: { maxMessageBytes } });
  return { transport, client: createClient(ExecService, transport) };
}
