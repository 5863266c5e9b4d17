import { invalidField } from "@drover/kernel";
import { Metadata } from "@grpc/grpc-js";

/** Whatever the standard constructor of headers takes. */
export type HeadersInput = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** The entries of grpc-js metadata as headers; binary values become base64 without padding. */
export function headersFrom(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    if (!Array.isArray(values)) continue;
    for (const value of values) headers.append(name, Buffer.isBuffer(value) ? base64Of(value) : String(value));
  }
  return headers;
}

/**
 * Headers as grpc-js metadata. INVALID_ARGUMENT for a name or value that cannot travel, e.g. with a line
 * break; the value is not shown.
 */
export function metadataFrom(init: HeadersInput | undefined): Metadata {
  const metadata = new Metadata();
  if (init !== undefined) addHeaders(metadata, init);
  return metadata;
}

/** Adds headers to metadata, under the same rules as {@link metadataFrom}. */
export function addHeaders(metadata: Metadata, init: HeadersInput): void {
  for (const [name, value] of readHeaders(init)) {
    try {
      metadata.add(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
    } catch {
      throw invalidField(`metadata.${name.slice(0, 64)}`, "characters that cannot travel", "printable ASCII");
    }
  }
}

/** The size of metadata as HTTP/2 counts it: names, values and 32 bytes for each entry (RFC 9113, 6.5.2). */
export function metadataBytes(metadata: Metadata): number {
  let bytes = 0;
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    if (!Array.isArray(values)) continue;
    for (const value of values) bytes += name.length + value.length + 32;
  }
  return bytes;
}

function readHeaders(init: HeadersInput): Iterable<[string, string]> {
  if (init instanceof Headers) return init;
  try {
    return new Headers(init);
  } catch {
    throw invalidField("metadata", "a name or value that cannot travel", "header names and printable ASCII values");
  }
}

function base64Of(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
