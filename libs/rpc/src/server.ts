import type { DescService } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import { joinAddress, type Logger, type Metrics, splitAddress } from "@drover/runtime";
import { type ChannelOptions, logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import { CallSet } from "./active-calls.ts";
import { addHealth } from "./health.ts";
import type { IdentityVerifier } from "./identity-verifier.ts";
import { defaultServerLimits, type RpcServerLimits } from "./limits.ts";
import { createObserver } from "./observation.ts";
import { addReflection } from "./reflection.ts";
import { createRouter, type RpcRouter } from "./router.ts";

/** A gRPC server that listens; disposing of it drains it. */
export interface RpcServer extends AsyncDisposable {
  /** `host:port` that is really bound. */
  readonly address: string;
  /** What `grpc.health.v1` answers; a server starts as NOT_SERVING. */
  setServing(serving: boolean): void;
}

/** What a server is made of. */
export interface RpcServerOptions {
  /** The service's name, which is also the audience of its identities. */
  readonly service: string;
  /** `host:port`; port 0 takes any free one. */
  readonly listen: string;
  readonly identity: IdentityVerifier;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly routes: (router: RpcRouter) => void;
  /** How long a drain waits for calls before it ends them, in milliseconds. */
  readonly graceMs: number;
  readonly limits?: Partial<RpcServerLimits>;
}

/**
 * Starts a gRPC server over cleartext HTTP/2, for the network inside a deployment. It also offers health and
 * reflection, which need no identity. UNAVAILABLE when the address cannot be bound.
 *
 * Disposing: health turns to NOT_SERVING, no connection or call is taken any more, calls finish; streams
 * still open after `streamDrainMs` (at most half the grace) end with UNAVAILABLE, and so does
 * everything after `graceMs`.
 */
export async function startRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  // grpc-js would print metadata that it cannot read, values included, to standard error.
  setLogVerbosity(logVerbosity.NONE);
  const limits: RpcServerLimits = { ...defaultServerLimits, ...options.limits };
  const server = new Server(channelOptions(limits));
  const calls = new CallSet();
  const services: DescService[] = [];
  const observe = createObserver(options.metrics, options.logger);
  options.metrics.gauge({
    name: "drover_rpc_server_active",
    help: "Calls that run on this server, streams included.",
    read: () => calls.size,
  });
  options.routes(createRouter(server, services, { identity: options.identity, limits, observe, active: calls }));
  const setServing = addHealth(server, services);
  addReflection(server, services);
  const address = await bind(server, options.listen);
  let stopped: Promise<void> | undefined;
  return {
    address,
    setServing,
    [Symbol.asyncDispose]() {
      stopped ??= drain(server, calls, setServing, options.graceMs, limits.streamDrainMs);
      return stopped;
    },
  };
}

function channelOptions(limits: RpcServerLimits): ChannelOptions {
  return {
    "grpc.max_receive_message_length": limits.maxMessageBytes,
    "grpc.max_concurrent_streams": limits.maxConcurrentStreams,
    "grpc.keepalive_time_ms": limits.keepaliveMs,
    "grpc.keepalive_timeout_ms": limits.keepaliveTimeoutMs,
    "grpc.max_connection_age_ms": limits.maxConnectionAgeMs,
    "grpc.max_connection_age_grace_ms": limits.maxConnectionAgeGraceMs,
    // Only with channelz does grpc-js 1.14 remember its sessions, and forceShutdown close them.
    "grpc.enable_channelz": 1,
  };
}

async function bind(server: Server, listen: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.bindAsync(listen, ServerCredentials.createInsecure(), (cause, port) => {
      if (cause === null) resolve(joinAddress(splitAddress(listen).host, port));
      else reject(new DroverError("UNAVAILABLE", `The address ${listen} cannot be bound.`, { cause }));
    });
  });
}

async function drain(
  server: Server,
  calls: CallSet,
  setServing: (serving: boolean) => void,
  graceMs: number,
  streamDrainMs: number,
): Promise<void> {
  setServing(false);
  const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  const endStreams = setTimeout(() => calls.endWithUnavailable("streams"), Math.min(streamDrainMs, graceMs / 2));
  const endAll = setTimeout(() => calls.endWithUnavailable("all"), graceMs);
  await calls.empty();
  clearTimeout(endStreams);
  clearTimeout(endAll);
  // Statuses have been handed to HTTP/2; a connection that only watches health would never close by itself.
  const lingering = setTimeout(() => server.forceShutdown(), 100);
  await closed;
  clearTimeout(lingering);
}
