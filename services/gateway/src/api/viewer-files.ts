import { extname } from "node:path";
import { DroverError } from "@drover/kernel";
import { viewerPath } from "../domain/viewer-path.ts";
import { type HttpRequest, type HttpResponse, pathOf, send } from "./json-answer.ts";

/** Nothing from elsewhere, no inline script, no frame around us. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const mediaTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
};

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Drover</title>
<h1>The viewer has not been built</h1>
<p>Build it once with <code>npm run build --workspace viewer</code> and load this page again.</p>
<p>The APIs of this gateway work without it.</p></html>
`;

/** A file of the built viewer by its path's segments; undefined where there is none. Never leaves its folder. */
export type ViewerFiles = (segments: readonly string[]) => Promise<Uint8Array | undefined>;

/**
 * Serves the built viewer: its files under their names, its one page for `/` and `/t/…`. Files under `assets/` have their
 * digest in their name and may be kept for ever.
 */
export function createViewerFiles(files: ViewerFiles): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  return async (request, response) => {
    const path = viewerPath(pathOf(request));
    if (path.kind === "page") return await sendPage(files, response);
    const file = path.kind === "file" ? await files(path.segments) : undefined;
    const type = path.kind === "file" ? mediaTypes[extname(path.segments.at(-1) ?? "")] : undefined;
    if (file === undefined || type === undefined) throw new DroverError("NOT_FOUND", "There is nothing at this path.");
    const immutable = path.kind === "file" && path.segments[0] === "assets";
    send(response, 200, file, {
      "content-type": type,
      "content-security-policy": contentSecurityPolicy,
      "cache-control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
    });
  };
}

async function sendPage(files: ViewerFiles, response: HttpResponse): Promise<void> {
  const page = await files(["index.html"]);
  send(response, page === undefined ? 503 : 200, page ?? notBuilt, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "cache-control": "no-cache",
  });
}
