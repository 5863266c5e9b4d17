import { Code, ConnectError, createContextKey, type Interceptor } from "@connectrpc/connect";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";

/** The tenant on whose behalf Drover calls. */
export const tenantKey = createContextKey("");

/**
 * Lets in who shows a token that Drover signed for this provider, and for nobody else. `audience` is `tool.` and the name
 * under which the provider is registered. Every other call is UNAUTHENTICATED.
 */
export function identityCheck(publicKeys: string, audience: string): Interceptor {
  const keys = createLocalJWKSet(JSON.parse(publicKeys) as JSONWebKeySet);
  return (next) => async (request) => {
    const token = request.header.get("x-drover-identity") ?? "";
    const checked = await jwtVerify(token, keys, { audience, algorithms: ["EdDSA"] }).catch((cause: unknown) => {
      throw new ConnectError(
        "The call carries no identity of Drover's.",
        Code.Unauthenticated,
        undefined,
        undefined,
        cause,
      );
    });
    request.contextValues.set(tenantKey, String(checked.payload.tenant));
    return await next(request);
  };
}
