export { actingAs, type Caller, callerOf, traceOf } from "./caller.ts";
export { connectErrorFrom, droverErrorFrom } from "./error-mapping.ts";
export { generateIdentityKeys, type IdentityKeys } from "./identity-keys.ts";
export { createIdentityMinter, type IdentityMinter, identityHeader } from "./identity-minter.ts";
export { createIdentityVerifier, type IdentityVerifier } from "./identity-verifier.ts";
export type { RpcClientLimits, RpcServerLimits } from "./limits.ts";
export type { RpcRouter } from "./router.ts";
export { type RpcServer, type RpcServerOptions, startRpcServer } from "./server.ts";
export { createRpcTransport, type RpcTransport } from "./transport.ts";
