import { createEgress, type Egress } from "@drover/egress";
import type { ModelGateway } from "@drover/model";
import { createOpenAiGateway } from "@drover/model/openai";
import { redact } from "@drover/redaction";
import { createRpcTransport, type IdentityMinter, type RpcTransport } from "@drover/rpc";

/** The other services. */
export interface Peers extends AsyncDisposable {
  readonly sandbox: RpcTransport;
  readonly rag: RpcTransport;
  readonly memory: RpcTransport;
  readonly trace: RpcTransport;
}

type Peer = "sandbox" | "rag" | "memory" | "trace";

/** Opens the ways to the other services; nothing is connected before the first call. */
export function connectPeers(options: {
  readonly addresses: Readonly<Record<Peer, readonly string[]>>;
  readonly minter: IdentityMinter;
  readonly maxMessageBytes: number;
}): Peers {
  const { addresses, minter } = options;
  const limits = { maxMessageBytes: options.maxMessageBytes };
  const open = (audience: Peer) => createRpcTransport({ addresses: addresses[audience], audience, minter, limits });
  const peers = { sandbox: open("sandbox"), rag: open("rag"), memory: open("memory"), trace: open("trace") };
  return {
    ...peers,
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(peers).map((transport) => transport[Symbol.asyncDispose]()));
    },
  };
}

/** Where the model is and how patiently it is asked. */
export interface ModelEndpoint {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly maxRetries: number;
  readonly firstByteTimeoutMs: number;
  readonly totalTimeoutMs: number;
}

/** The model endpoint, reached through the one way out. Its own host is the only private one that may be called. */
export function openModel(endpoint: ModelEndpoint): { readonly model: ModelGateway; readonly egress: Egress } {
  const { hostname } = new URL(endpoint.baseUrl);
  const host = hostname.replace(/^\[|\]$/g, "");
  const egress = createEgress({ allowHosts: [host], allowPrivate: [host] });
  const model = createOpenAiGateway({ ...endpoint, fetch: egress.fetch, redact: (text) => redact(text).text });
  return { model, egress };
}
