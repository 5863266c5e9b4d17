/** Limits of a server; see {@link defaultServerLimits} for the values and their reasons. */
export interface RpcServerLimits {
  /** Largest request message, counted after decompression, and largest response message, in bytes. */
  readonly maxMessageBytes: number;
  /** All request metadata together, names and values, in bytes. */
  readonly maxMetadataBytes: number;
  /** Streams that one connection may have open. */
  readonly maxConcurrentStreams: number;
  /** Deadline of a unary call whose caller set none. */
  readonly defaultUnaryMs: number;
  /** Longest time that a unary call may take, whatever its caller asked for. */
  readonly maxUnaryMs: number;
  /** How long open streams may still run after the drain began, before they end with UNAVAILABLE. */
  readonly streamDrainMs: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** After this time a connection is asked to close, so that callers find new replicas. */
  readonly maxConnectionAgeMs: number;
  /** How long calls on a connection that was asked to close may still take. */
  readonly maxConnectionAgeGraceMs: number;
}

/**
 * 4 MiB is gRPC's own default for received messages; 16 KiB of metadata is twice what gRPC recommends as
 * a soft limit. Ten thousand streams, because one gateway holds all its watches on a few connections.
 */
export const defaultServerLimits: RpcServerLimits = {
  maxMessageBytes: 4 * 1024 ** 2,
  maxMetadataBytes: 16 * 1024,
  maxConcurrentStreams: 16_384,
  defaultUnaryMs: 30_000,
  maxUnaryMs: 300_000,
  streamDrainMs: 5000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
  maxConnectionAgeMs: 600_000,
  maxConnectionAgeGraceMs: 600_000,
};

/** Limits of a client. */
export interface RpcClientLimits {
  /** Largest request and response message in bytes. */
  readonly maxMessageBytes: number;
  /** Deadline of a unary call that is made without one. */
  readonly defaultUnaryMs: number;
  /** Longest deadline of a unary call. */
  readonly maxUnaryMs: number;
  /** Streams on one channel before another is opened; below the 100 that many servers allow. */
  readonly streamsPerChannel: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Shortest and longest wait before a lost address is tried again. */
  readonly minReconnectMs: number;
  readonly maxReconnectMs: number;
}

/** Reconnecting is quick, because a peer that restarts is back within seconds. */
export const defaultClientLimits: RpcClientLimits = {
  maxMessageBytes: 4 * 1024 ** 2,
  defaultUnaryMs: 30_000,
  maxUnaryMs: 300_000,
  streamsPerChannel: 90,
  keepaliveMs: 30_000,
  keepaliveTimeoutMs: 10_000,
  minReconnectMs: 200,
  maxReconnectMs: 5000,
};
