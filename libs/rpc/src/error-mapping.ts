import { create } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { DroverError, type ErrorCode } from "@drover/kernel";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { decodeDetails, detailsOf, encodeDetails, messageOf, optionsIn } from "./error-details.ts";

const detailsTrailer = "grpc-status-details-bin";

/** The one table between Drover's codes and gRPC's (Connect uses the same numbers). */
const grpcCodes: Readonly<Record<ErrorCode, status>> = {
  INVALID_ARGUMENT: status.INVALID_ARGUMENT,
  NOT_FOUND: status.NOT_FOUND,
  ALREADY_EXISTS: status.ALREADY_EXISTS,
  PERMISSION_DENIED: status.PERMISSION_DENIED,
  UNAUTHENTICATED: status.UNAUTHENTICATED,
  FAILED_PRECONDITION: status.FAILED_PRECONDITION,
  ABORTED: status.ABORTED,
  RESOURCE_EXHAUSTED: status.RESOURCE_EXHAUSTED,
  DEADLINE_EXCEEDED: status.DEADLINE_EXCEEDED,
  CANCELLED: status.CANCELLED,
  UNAVAILABLE: status.UNAVAILABLE,
  UNIMPLEMENTED: status.UNIMPLEMENTED,
  INTERNAL: status.INTERNAL,
};

const codesByNumber: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  ...Object.entries(grpcCodes).map(([code, number]) => [number, code as ErrorCode] as const),
  [status.OUT_OF_RANGE, "INVALID_ARGUMENT"],
]);

/** What grpc-js needs to end a call with an error; `code` is never OK. */
export function statusOf(error: DroverError): StatusObject {
  const code = grpcCodes[error.code];
  const metadata = new Metadata();
  metadata.set(detailsTrailer, Buffer.from(encodeDetails(error, code, retryableByCode(error.code))));
  return { code, details: messageOf(error), metadata };
}

/**
 * Any caught error in Drover's vocabulary: a DroverError as it is, an error of gRPC or Connect with its
 * details decoded, an abort as CANCELLED, a time-out as DEADLINE_EXCEEDED. The rest, also codes that
 * Drover does not have, is INTERNAL with a neutral message and the original as cause.
 */
export function droverErrorFrom(error: unknown): DroverError {
  if (error instanceof DroverError) return error;
  if (error instanceof ConnectError) return decoded(error, error.code, error.rawMessage, connectDetails(error));
  if (isGrpcStatus(error)) {
    const bytes = error.metadata?.get(detailsTrailer)[0];
    return decoded(error, error.code, error.details, Buffer.isBuffer(bytes) ? (decodeDetails(bytes) ?? []) : []);
  }
  return DroverError.from(error);
}

/** The error for a Connect server (the edge): same code, same safe message, same typed details. */
export function connectErrorFrom(error: unknown): ConnectError {
  const known = droverErrorFrom(error);
  const wrapped = new ConnectError(messageOf(known), Number(grpcCodes[known.code]), undefined, undefined, known);
  wrapped.details = detailsOf(known, retryableByCode(known.code)).map((detail) => ({
    type: typeNameOf(detail),
    value: detail.value,
  }));
  return wrapped;
}

/** True where a status came with Drover's details, so its message was written by a Drover service. */
export function carriesDetails(trailer: Metadata | undefined): boolean {
  return trailer !== undefined && trailer.get(detailsTrailer).length > 0;
}

function decoded(cause: Error, number: number, message: string, details: readonly Any[]): DroverError {
  const code = codesByNumber.get(number);
  if (code === undefined || (code === "INTERNAL" && details.length === 0)) {
    return new DroverError("INTERNAL", "Internal error.", { cause });
  }
  return new DroverError(code, message, { ...optionsIn(details), cause });
}

function isGrpcStatus(error: unknown): error is Error & { code: number; details: string; metadata?: Metadata } {
  if (!(error instanceof Error) || !("code" in error) || !("details" in error)) return false;
  const fits = typeof error.code === "number" && typeof error.details === "string";
  return fits && (!("metadata" in error) || error.metadata instanceof Metadata);
}

function connectDetails(error: ConnectError): readonly Any[] {
  return error.details.flatMap((detail) =>
    "type" in detail ? [create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value })] : [],
  );
}

function typeNameOf(detail: Any): string {
  return detail.typeUrl.slice(detail.typeUrl.lastIndexOf("/") + 1);
}

function retryableByCode(code: ErrorCode): boolean {
  return new DroverError(code, "").retryable;
}
