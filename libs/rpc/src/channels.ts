import { DroverError } from "@drover/kernel";
import { type ChannelOptions, Client, connectivityState, credentials } from "@grpc/grpc-js";
import type { RpcClientLimits } from "./limits.ts";

/** A channel that is lent to one call. */
export interface Lease {
  readonly client: Client;
  /** To be called once, when the call has ended. */
  release(): void;
}

/** The channels to one peer. */
export interface Channels {
  /** For a unary call. */
  unary(): Client;
  /** For a stream: never one of the unary channels, and one with room for a stream more. */
  stream(): Lease;
  /** Ends all calls with CANCELLED and closes the connections. */
  close(): void;
}

interface StreamChannel {
  readonly client: Client;
  open: number;
}

/** Channels over the targets of one peer; none connects before its first call. */
export function createChannels(targets: readonly string[], limits: RpcClientLimits): Channels {
  const options = channelOptions(limits);
  const connect = (target: string) => new Client(target, credentials.createInsecure(), options);
  const unary = targets.map(connect);
  const streams = targets.map((target): StreamChannel[] => [{ client: connect(target), open: 0 }]);
  let turn = 0;
  let closed = false;
  /** The next target in turn whose peer is not known to be away; the next one where all are. */
  const next = (): number => {
    const start = turn++ % targets.length;
    for (let i = 0; i < targets.length; i++) {
      const candidate = (start + i) % targets.length;
      if (!isAway(unary[candidate])) return candidate;
    }
    return start;
  };
  return {
    unary() {
      if (closed) throw transportClosed();
      const client = unary[targets.length === 1 ? 0 : next()];
      if (client === undefined) throw new TypeError("A peer needs at least one target.");
      return client;
    },
    stream() {
      if (closed) throw transportClosed();
      const index = targets.length === 1 ? 0 : next();
      const pool = streams[index] ?? [];
      let channel = pool.find(({ open }) => open < limits.streamsPerChannel);
      if (channel === undefined) {
        channel = { client: connect(targets[index] ?? ""), open: 0 };
        pool.push(channel);
      }
      const leased = channel;
      leased.open++;
      return {
        client: leased.client,
        release() {
          leased.open--;
          if (leased.open > 0 || pool.indexOf(leased) < 1 || closed) return;
          pool.splice(pool.indexOf(leased), 1);
          leased.client.close();
        },
      };
    },
    close() {
      closed = true;
      for (const client of unary) client.close();
      for (const { client } of streams.flat()) client.close();
    },
  };
}

function transportClosed(): DroverError {
  return new DroverError("UNAVAILABLE", "This process is stopping and makes no calls any more.", { retryable: false });
}

function isAway(client: Client | undefined): boolean {
  return client?.getChannel().getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE;
}

function channelOptions(limits: RpcClientLimits): ChannelOptions {
  return {
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    "grpc.service_config_disable_resolution": 1,
    "grpc.max_receive_message_length": limits.maxMessageBytes,
    "grpc.keepalive_time_ms": limits.keepaliveMs,
    "grpc.keepalive_timeout_ms": limits.keepaliveTimeoutMs,
    "grpc.initial_reconnect_backoff_ms": limits.minReconnectMs,
    "grpc.max_reconnect_backoff_ms": limits.maxReconnectMs,
    "grpc.dns_min_time_between_resolutions_ms": 5000,
    // Without a pool of their own, channels to the same address would share one connection.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    "grpc.enable_http_proxy": 0,
  };
}
