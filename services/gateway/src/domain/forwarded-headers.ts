/** Values of one header as node gives them. */
export type HeaderValue = number | string | string[] | undefined;

/** Headers that belong to one hop, to the edge alone, or are set anew by it. */
const dropped: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-length",
  "cookie",
  "expect",
  "forwarded",
  "grpc-timeout",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "traceparent",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  "x-real-ip",
  "x-tenant-id",
]);

/** Names that only Drover's own services may send; a client's word for them counts for nothing. */
const droppedPrefixes = ["x-drover-", "x-forwarded-", "x-envoy-", ":"] as const;

/** Whether a client's header may travel on to a service. Names are lower case. */
export function isForwarded(name: string): boolean {
  return !dropped.has(name) && !droppedPrefixes.some((prefix) => name.startsWith(prefix));
}

/** A client's headers without those that must not pass the edge. */
export function forwardedHeaders(headers: Readonly<Record<string, HeaderValue>>): Record<string, HeaderValue> {
  const kept: Record<string, HeaderValue> = {};
  for (const name in headers) if (isForwarded(name)) kept[name] = headers[name];
  return kept;
}

/** A service's trailers or headers without pseudo-headers and what belongs to one hop. */
export function returnedHeaders(headers: Readonly<Record<string, HeaderValue>>): Record<string, HeaderValue> {
  const kept: Record<string, HeaderValue> = {};
  for (const name in headers) {
    if (name === ":status" || (!name.startsWith(":") && !dropped.has(name) && !name.startsWith("x-drover-"))) {
      kept[name] = headers[name];
    }
  }
  return kept;
}
