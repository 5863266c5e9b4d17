import { DroverError, invalidField } from "@drover/kernel";
import type { Principal } from "../application/principal.ts";
import type { Sessions } from "../application/sessions.ts";
import { sessionIn, setCookie } from "../domain/session-token.ts";
import type { Credentials } from "./credentials.ts";
import { type HttpRequest, type HttpResponse, headerOf, sendJson } from "./json-answer.ts";
import { presentedBy } from "./presented.ts";

const maxBodyBytes = 4096;

/**
 * `/session`, the viewer's sign-in: POST `{"key": "drv_…"}` opens one and sets its cookie, GET tells whose it is,
 * DELETE ends it. Throws what becomes a JSON error.
 */
export function createSessionRoutes(parts: {
  readonly sessions: Sessions;
  readonly credentials: Credentials;
  /** Behind TLS the cookie is marked Secure. */
  readonly secureCookie: boolean;
}): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { sessions, credentials, secureCookie } = parts;
  return async (request, response) => {
    const presented = presentedBy(request);
    switch (request.method) {
      case "GET": {
        const { principal, expiresAtMs } = await sessions.resume(sessionIn(presented.cookie));
        return sendJson(response, 200, sessionBody(principal, expiresAtMs));
      }
      case "POST": {
        // A program has no origin and no cookie of others to abuse; a browser always sends one.
        if (presented.origin !== undefined) credentials.requireOwnOrigin(presented);
        const { principal, expiresAtMs, cookie } = await sessions.open(await keyIn(request));
        const set = setCookie(cookie, (expiresAtMs - Date.now()) / 1000, secureCookie);
        return sendJson(response, 200, sessionBody(principal, expiresAtMs), { "set-cookie": set });
      }
      case "DELETE": {
        if (presented.origin !== undefined) credentials.requireOwnOrigin(presented);
        return sendJson(response, 200, {}, { "set-cookie": setCookie("", 0, secureCookie) });
      }
      default:
        throw new DroverError("UNIMPLEMENTED", "/session takes GET, POST and DELETE.");
    }
  };
}

function sessionBody({ tenant, subject, scopes }: Principal, expiresAtMs: number) {
  return { tenantId: tenant, subject, scopes, expiresAt: new Date(expiresAtMs).toISOString() };
}

async function keyIn(request: HttpRequest): Promise<string> {
  const type = headerOf(request, "content-type")?.split(";", 1)[0]?.trim();
  if (type !== "application/json") {
    throw invalidField("Content-Type", JSON.stringify(type ?? "").slice(0, 60), "application/json");
  }
  const body = await bodyOf(request);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw invalidField("body", "text that is not JSON", '{"key": "drv_…"}');
  }
  const key = typeof parsed === "object" && parsed !== null && "key" in parsed ? parsed.key : undefined;
  if (typeof key !== "string") throw invalidField("key", typeof key, "an API key as text");
  return key.trim();
}

async function bodyOf(request: HttpRequest): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw invalidField("body", `more than ${maxBodyBytes} bytes`, `at most ${maxBodyBytes}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
