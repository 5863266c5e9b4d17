import type { Clock } from "@drover/kernel";
import { decodeClaims, encodeClaims } from "../domain/session-token.ts";
import { type Authenticator, unauthenticated } from "./authenticate.ts";
import type { TextSigner } from "./ports.ts";
import type { Principal } from "./principal.ts";

/** A session of the viewer. */
interface Session {
  readonly principal: Principal;
  readonly expiresAtMs: number;
}

/** Signed sessions: nothing is stored, and a revoked key ends them all. */
export interface Sessions {
  /** A session for an API key, with the value for its cookie. UNAUTHENTICATED for a key that is not valid. */
  open(key: string): Promise<Session & { readonly cookie: string }>;
  /** The session of a cookie's value. UNAUTHENTICATED where it is missing, forged or expired, or its key is revoked. */
  resume(cookie: string | undefined): Promise<Session>;
}

/** Sessions that last `ttlMs`. */
export function createSessions(options: {
  readonly authenticator: Authenticator;
  readonly signer: TextSigner;
  readonly clock: Pick<Clock, "now">;
  readonly ttlMs: number;
}): Sessions {
  const { authenticator, signer, clock } = options;
  return {
    async open(key) {
      const principal = await authenticator.byKey(key);
      const expiresAtMs = clock.now().getTime() + options.ttlMs;
      const cookie = signer.sign(encodeClaims({ keyId: principal.keyId, expiresAtMs }));
      return { principal, expiresAtMs, cookie };
    },
    async resume(cookie) {
      const text = signer.open(cookie ?? "");
      const claims = text === undefined ? undefined : decodeClaims(text);
      if (claims === undefined || claims.expiresAtMs <= clock.now().getTime()) throw unauthenticated();
      return { principal: await authenticator.byId(claims.keyId), expiresAtMs: claims.expiresAtMs };
    },
  };
}
