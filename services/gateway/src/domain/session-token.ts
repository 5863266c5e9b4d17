/** What a viewer's cookie says; the signature around it is checked before anything is believed. */
export interface SessionClaims {
  /** The API key it was made with; a revoked key ends its sessions. */
  readonly keyId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** Name of the cookie. */
const sessionCookie = "drover_session";

/** The claims as the text that is signed: no character of it needs quoting in a cookie. */
export function encodeClaims({ keyId, expiresAtMs }: SessionClaims): string {
  return `1.${keyId}.${expiresAtMs}`;
}

/** The claims in a signed text, or undefined where it is none. */
export function decodeClaims(text: string): SessionClaims | undefined {
  const match = /^1\.([a-z0-9]{12})\.(\d{1,15})$/.exec(text);
  const keyId = match?.[1];
  return keyId === undefined ? undefined : { keyId, expiresAtMs: Number(match?.[2]) };
}

/** The value of the session cookie in a Cookie header; the first one where there are several. */
export function sessionIn(header: string | undefined): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    if (equals > 0 && pair.slice(0, equals).trim() === sessionCookie) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/**
 * The Set-Cookie header for a session, or the one that ends it (an empty value). Scripts cannot read
 * the cookie and other sites cannot cause it to be sent.
 */
export function setCookie(value: string, maxAgeSeconds: number, secure: boolean): string {
  const attributes = ["Path=/", "HttpOnly", "SameSite=Strict", `Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}`];
  return [`${sessionCookie}=${value}`, ...attributes, ...(secure ? ["Secure"] : [])].join("; ");
}
