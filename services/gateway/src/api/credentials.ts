import { DroverError } from "@drover/kernel";
import { type Authenticator, unauthenticated } from "../application/authenticate.ts";
import type { Principal } from "../application/principal.ts";
import type { Sessions } from "../application/sessions.ts";
import { isOwnOrigin } from "../domain/origin.ts";
import { sessionIn } from "../domain/session-token.ts";

/** The parts of a request that say who it comes from. */
export interface Presented {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly origin: string | undefined;
  /** The host that was asked. */
  readonly host: string | undefined;
}

/** Finds out who a request comes from. */
export interface Credentials {
  /** The principal of an `authorization: Bearer drv_…`; at once where the key is cached. UNAUTHENTICATED. */
  bearer(authorization: string | undefined): Principal | Promise<Principal>;
  /**
   * The principal of a bearer key or, without one, of the viewer's cookie. A cookie counts for a `write`
   * only from our own origin: PERMISSION_DENIED otherwise. UNAUTHENTICATED without either.
   */
  any(presented: Presented, write: boolean): Promise<Principal>;
  /** PERMISSION_DENIED for an origin that is not ours. */
  requireOwnOrigin(presented: Presented): void;
}

/** Credentials over keys and sessions; `origins` are allowed beside the host that was asked. */
export function createCredentials(
  authenticator: Authenticator,
  sessions: Sessions,
  origins: readonly string[],
): Credentials {
  const bearer = (authorization: string | undefined) => {
    const token = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) throw unauthenticated();
    return authenticator.byKey(token);
  };
  const requireOwnOrigin = ({ origin, host }: Presented) => {
    if (isOwnOrigin(origin, host, origins)) return;
    throw new DroverError("PERMISSION_DENIED", "A browser may write only from this gateway's own pages.", {
      reason: "ORIGIN_REFUSED",
      violations: [
        { field: "Origin", found: JSON.stringify((origin ?? "").slice(0, 100)), allowed: `the host ${host ?? ""}` },
      ],
    });
  };
  return {
    bearer,
    requireOwnOrigin,
    async any(presented, write) {
      if (presented.authorization !== undefined) return await bearer(presented.authorization);
      const { principal } = await sessions.resume(sessionIn(presented.cookie));
      if (write) requireOwnOrigin(presented);
      return principal;
    },
  };
}
