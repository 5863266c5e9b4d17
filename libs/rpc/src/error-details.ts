import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import type { DroverError, ErrorOptions, FieldViolation } from "@drover/kernel";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@drover/proto/google/rpc/error_details";
import { StatusSchema } from "@drover/proto/google/rpc/status";

/** The domain of every `ErrorInfo` that Drover sends. */
const domain = "drover";

/** Metadata key that says `retryable` where it is not what the code implies. */
const retryableKey = "drover-retryable";

/** Trailers are headers, and peers bound those: what does not fit is left out, from the end. */
const bounds = { message: 512, violations: 10, text: 120, metadata: 8, key: 64, value: 80 } as const;

/** The message as it may travel: well-formed and at most 512 characters. */
export function messageOf(error: DroverError): string {
  return short(error.message, bounds.message);
}

/** A `google.rpc.Status` in bytes for the trailer `grpc-status-details-bin`. */
export function encodeDetails(error: DroverError, code: number, retryableByCode: boolean): Uint8Array {
  return toBinary(
    StatusSchema,
    create(StatusSchema, { code, message: messageOf(error), details: detailsOf(error, retryableByCode) }),
  );
}

/** The typed details of an error, each packed into an `Any`. */
export function detailsOf(error: DroverError, retryableByCode: boolean): Any[] {
  const metadata = Object.fromEntries(
    Object.entries(error.metadata)
      .slice(0, bounds.metadata)
      .map(([key, value]) => [short(key, bounds.key), short(value, bounds.value)]),
  );
  if (error.retryable !== retryableByCode) metadata[retryableKey] = String(error.retryable);
  const details = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: error.reason, domain, metadata }))];
  if (error.violations.length > 0) {
    const fieldViolations = error.violations.slice(0, bounds.violations).map(({ field, found, allowed }) => ({
      field: short(field, bounds.text),
      description: `found ${short(found, bounds.text)}, allowed ${short(allowed, bounds.text)}`,
    }));
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (error.retryAfterMs !== undefined) {
    const retryDelay = durationFromMs(Math.max(0, Math.round(error.retryAfterMs)));
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return details;
}

/** The details in the bytes of a `google.rpc.Status`; undefined where they are not one. */
export function decodeDetails(bytes: Uint8Array): readonly Any[] | undefined {
  try {
    return fromBinary(StatusSchema, bytes).details;
  } catch {
    return undefined;
  }
}

/** What details say about an error, for the constructor of DroverError; unknown ones are passed over. */
export function optionsIn(details: readonly Any[]): ErrorOptions {
  let options: ErrorOptions = {};
  for (const detail of details) options = { ...options, ...optionsOf(detail) };
  return options;
}

function optionsOf(detail: Any): ErrorOptions {
  try {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info !== undefined) {
      const { [retryableKey]: retryable, ...metadata } = info.metadata;
      return { reason: info.reason, metadata, ...(retryable === undefined ? {} : { retryable: retryable === "true" }) };
    }
    const bad = anyUnpack(detail, BadRequestSchema);
    if (bad !== undefined) return { violations: bad.fieldViolations.map(violationOf) };
    const retry = anyUnpack(detail, RetryInfoSchema);
    if (retry?.retryDelay !== undefined) return { retryAfterMs: durationMs(retry.retryDelay) };
  } catch {
    // A detail that does not decode says nothing; the code and the message still do.
  }
  return {};
}

function violationOf(violation: { readonly field: string; readonly description: string }): FieldViolation {
  const match = /^found (.*), allowed (.*)$/s.exec(violation.description);
  return { field: violation.field, found: match?.[1] ?? "", allowed: match?.[2] ?? violation.description };
}

function short(text: string, length: number): string {
  return (text.length <= length ? text : `${text.slice(0, length - 1)}…`).toWellFormed();
}
