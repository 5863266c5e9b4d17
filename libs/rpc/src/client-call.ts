import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { formatTraceparent } from "@drover/tracing";
import { Metadata, status } from "@grpc/grpc-js";
import { callerKey, traceKey, traceparentHeader } from "./caller.ts";
import { carriesDetails, droverErrorFrom } from "./error-mapping.ts";
import { type IdentityMinter, identityHeader } from "./identity-minter.ts";
import type { RpcClientLimits } from "./limits.ts";
import { addHeaders, type HeadersInput } from "./metadata.ts";

/** What every call to one peer has in common. */
export interface Peer {
  /** The service that is called. */
  readonly audience: string;
  readonly addresses: string;
  readonly minter: IdentityMinter | undefined;
  readonly limits: RpcClientLimits;
}

/** What a caller of the transport said about one call. */
export interface CallSetting {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly header: HeadersInput | undefined;
  readonly values: ContextValues | undefined;
}

/** Messages are encoded and decoded by us; grpc-js passes bytes through. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

/**
 * The metadata of a call: the caller's headers, then the identity and trace of the context values, which
 * nothing in the headers can replace. Throws (or rejects with) DroverError, also where the call's signal
 * has aborted, before or while a token was made, and where its caller has no time left: then nothing is sent.
 */
export async function preparedMetadata(peer: Peer, setting: CallSetting): Promise<Metadata> {
  if (setting.signal?.aborted) throw abortError(setting.signal);
  if (setting.timeoutMs !== undefined && !(setting.timeoutMs > 0)) {
    throw new DroverError("DEADLINE_EXCEEDED", "The deadline had passed before the call was made.");
  }
  const metadata = await metadataOf(peer, setting);
  if (setting.signal?.aborted) throw abortError(setting.signal);
  return metadata;
}

function metadataOf(peer: Peer, setting: CallSetting): Metadata | Promise<Metadata> {
  const metadata = new Metadata();
  if (setting.header !== undefined) addHeaders(metadata, setting.header);
  const trace = setting.values?.get(traceKey);
  if (trace !== undefined) metadata.set(traceparentHeader, formatTraceparent(trace));
  const caller = setting.values?.get(callerKey);
  if (caller === undefined) return metadata;
  if (peer.minter === undefined) {
    throw new DroverError("UNAUTHENTICATED", "This process holds no key with which to act for a caller.");
  }
  const withToken = (token: string): Metadata => {
    metadata.set(identityHeader, token);
    return metadata;
  };
  const token = peer.minter.mint(caller, peer.audience);
  return typeof token === "string" ? withToken(token) : token.then(withToken);
}

/** The error that ended a call, in Drover's vocabulary; `signal` tells whose fault a cancellation was. */
export function callError(
  error: unknown,
  peer: Peer,
  method: DescMethod,
  signal: AbortSignal | undefined,
): DroverError {
  if (signal?.aborted) return abortError(signal);
  if (isLocal(error, status.UNAVAILABLE)) {
    return new DroverError("UNAVAILABLE", `The service ${peer.audience} cannot be reached.`, {
      reason: "PEER_UNREACHABLE",
      metadata: { service: peer.audience },
      // Where it was looked for is for logs alone: this message goes as far as the caller of the edge.
      cause: new Error(`No answer from ${peer.addresses}.`, { cause: error }),
    });
  }
  if (isLocal(error, status.DEADLINE_EXCEEDED)) {
    return new DroverError("DEADLINE_EXCEEDED", `${peer.audience} did not answer ${method.name} within the deadline.`, {
      cause: error,
    });
  }
  return droverErrorFrom(error);
}

/** What an aborted signal's caller is told: the reason where it is a known one, else a cancellation. */
function abortError(signal: AbortSignal): DroverError {
  const error = droverErrorFrom(signal.reason);
  if (error === signal.reason || error.code !== "INTERNAL") return error;
  return new DroverError("CANCELLED", "The call was cancelled.", { cause: signal.reason });
}

/** True for a status that grpc-js made itself, without an answer of a Drover service. */
function isLocal(error: unknown, code: status): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== code) return false;
  return !("metadata" in error && error.metadata instanceof Metadata && carriesDetails(error.metadata));
}
