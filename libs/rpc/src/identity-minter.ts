import { type Clock, systemClock } from "@drover/kernel";
import { SignJWT } from "jose";
import type { Caller } from "./caller.ts";
import { readPrivateKey } from "./identity-keys.ts";
import { LruCache } from "./lru-cache.ts";

/** Name of the metadata entry that carries the token. */
export const identityHeader = "x-drover-identity";

/** How long a token is good for, in seconds; verifiers hold every token to it. */
export const identityTtlSeconds = 60;

/** A token is minted anew when less than this remains of it, so that none expires on its way. */
const renewBeforeMs = 10_000;
const cachedTokens = 10_000;

/** Makes the tokens with which this process speaks for a caller. */
export interface IdentityMinter {
  /** A token for one audience (the service that is called); from the cache where possible. */
  mint(caller: Caller, audience: string): string | Promise<string>;
}

interface Minted {
  readonly token: string;
  readonly renewAtMs: number;
}

/** A minter over a private JWK as JSON text. `issuer` is the service that mints. Throws TypeError for a bad key. */
export function createIdentityMinter(options: {
  readonly privateKey: string;
  readonly issuer: string;
  readonly clock?: Pick<Clock, "now">;
}): IdentityMinter {
  const { kid, key } = readPrivateKey(options.privateKey);
  const clock = options.clock ?? systemClock;
  const minted = new LruCache<string, Minted>(cachedTokens);
  const sign = (caller: Caller, audience: string, nowMs: number) => {
    const issuedAt = Math.floor(nowMs / 1000);
    return new SignJWT({
      tenant: caller.tenant,
      scopes: caller.scopes,
      ...(caller.taskId === undefined ? {} : { task: caller.taskId }),
    })
      .setProtectedHeader({ alg: "EdDSA", kid })
      .setIssuer(options.issuer)
      .setAudience(audience)
      .setSubject(caller.subject)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + identityTtlSeconds)
      .sign(key);
  };
  return {
    mint(caller, audience) {
      const id = JSON.stringify([audience, caller.tenant, caller.subject, caller.taskId ?? null, caller.scopes]);
      const nowMs = clock.now().getTime();
      const cached = minted.get(id);
      if (cached !== undefined && cached.renewAtMs > nowMs) return cached.token;
      return sign(caller, audience, nowMs).then((token) => {
        minted.set(id, { token, renewAtMs: nowMs + identityTtlSeconds * 1000 - renewBeforeMs });
        return token;
      });
    },
  };
}
