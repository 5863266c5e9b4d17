/** What a GET outside the APIs asks for. */
export type ViewerPath =
  | { readonly kind: "page" }
  | { readonly kind: "file"; readonly segments: readonly string[] }
  | { readonly kind: "none" };

/**
 * The file of the viewer behind a request's path. `/` and `/t/…` are pages of the one application. A
 * path that names a hidden file, climbs, or holds a backslash, NUL or bad escape is none.
 */
export function viewerPath(path: string): ViewerPath {
  if (path === "/" || path === "/index.html" || path === "/t" || path.startsWith("/t/")) return { kind: "page" };
  const segments: string[] = [];
  for (const raw of path.slice(1).split("/")) {
    const segment = decoded(raw);
    if (segment === undefined || segment.startsWith(".") || !/^[\w.@-]+$/.test(segment)) return { kind: "none" };
    segments.push(segment);
  }
  return { kind: "file", segments };
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
