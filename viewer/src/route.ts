/** Which page the address names. */
export type Route =
  | { readonly kind: "list" }
  | { readonly kind: "trace"; readonly traceId: string }
  | { readonly kind: "task"; readonly taskId: string }
  | { readonly kind: "unknown" };

/** The route of a path: `/`, or `/t/` with a trace's 32 hexadecimal digits or a task's UUID. */
export function routeOf(path: string): Route {
  if (path === "/" || path === "/index.html" || path === "/t" || path === "/t/") return { kind: "list" };
  const id = /^\/t\/([^/]+)\/?$/.exec(path)?.[1]?.toLowerCase() ?? "";
  if (/^[0-9a-f]{32}$/.test(id)) return { kind: "trace", traceId: id };
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return { kind: "task", taskId: id };
  return { kind: "unknown" };
}

/** The span in an address's fragment, `#span=…`; empty for none. */
export function spanIn(hash: string): string {
  return /^#span=([0-9a-f]{16})$/.exec(hash)?.[1] ?? "";
}

/** The fragment that links to a span. */
export function spanHash(spanId: string): string {
  return spanId === "" ? "" : `#span=${spanId}`;
}
