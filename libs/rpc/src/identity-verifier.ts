import { type Clock, DroverError, systemClock } from "@drover/kernel";
import { errors, type JWTPayload, jwtVerify } from "jose";
import type { Caller } from "./caller.ts";
import { readPublicKeys } from "./identity-keys.ts";
import { identityTtlSeconds } from "./identity-minter.ts";
import { LruCache } from "./lru-cache.ts";

/** Checks the tokens that callers send. */
export interface IdentityVerifier {
  /** Who a token speaks for. Throws (or rejects with) UNAUTHENTICATED, whose message says what is wrong. */
  verify(token: string): Caller | Promise<Caller>;
}

/** Clocks of two machines may differ by this much. */
const toleranceSeconds = 5;
const maxTokenLength = 4096;
const cachedTokens = 10_000;

interface Verified {
  readonly caller: Caller;
  readonly expiresAtMs: number;
}

/**
 * A verifier over a JWKS as JSON text; `audience` is the service that verifies. Ed25519 only: the
 * algorithm and the place of the keys never come from the token. Throws TypeError for bad keys.
 */
export function createIdentityVerifier(options: {
  readonly publicKeys: string;
  readonly audience: string;
  readonly clock?: Pick<Clock, "now">;
}): IdentityVerifier {
  const keys = readPublicKeys(options.publicKeys);
  const clock = options.clock ?? systemClock;
  const verified = new LruCache<string, Verified>(cachedTokens);
  const check = async (token: string): Promise<Caller> => {
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = kid === undefined ? undefined : keys.get(kid);
        if (key === undefined) throw refused("its key is not known");
        return key;
      },
      {
        algorithms: ["EdDSA"],
        audience: options.audience,
        requiredClaims: ["iss", "iat", "exp", "sub"],
        maxTokenAge: identityTtlSeconds,
        clockTolerance: toleranceSeconds,
        currentDate: clock.now(),
      },
    );
    // One token, one service: with a list of audiences each of them could replay it to the others.
    if (Array.isArray(payload.aud)) throw refused('the claim "aud" is a list');
    const caller = callerIn(payload);
    const endsAt = Math.min(payload.exp ?? 0, (payload.iat ?? 0) + identityTtlSeconds);
    verified.set(token, { caller, expiresAtMs: (endsAt + toleranceSeconds) * 1000 });
    return caller;
  };
  return {
    verify(token) {
      const cached = verified.get(token);
      if (cached !== undefined) {
        if (cached.expiresAtMs > clock.now().getTime()) return cached.caller;
        verified.delete(token);
      }
      if (token.length > maxTokenLength) throw refused("it is too long");
      return check(token).catch((error: unknown) => {
        throw error instanceof DroverError ? error : refused(reasonOf(error), error);
      });
    },
  };
}

function callerIn(payload: JWTPayload): Caller {
  const { sub, tenant, scopes, task } = payload;
  if (typeof sub !== "string" || sub === "") throw refused('the claim "sub" is missing');
  if (typeof tenant !== "string" || tenant === "") throw refused('the claim "tenant" is missing');
  if (!Array.isArray(scopes) || !scopes.every((scope): scope is string => typeof scope === "string")) {
    throw refused('the claim "scopes" is missing');
  }
  if (task !== undefined && typeof task !== "string") throw refused('the claim "task" is not text');
  return Object.freeze({
    tenant,
    subject: sub,
    scopes: Object.freeze([...scopes]),
    ...(task === undefined ? {} : { taskId: task }),
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `the claim "${error.claim}" does not fit`;
  if (error instanceof errors.JOSEAlgNotAllowed) return "its algorithm is not allowed";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "its signature does not fit";
  return "it is not well formed";
}

function refused(why: string, cause?: unknown): DroverError {
  return new DroverError("UNAUTHENTICATED", `The identity was refused: ${why}.`, { reason: "IDENTITY_REFUSED", cause });
}
