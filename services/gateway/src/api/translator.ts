import { createConnectRouter, createContextValues, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { DroverError } from "@drover/kernel";
import { connectErrorFrom } from "@drover/rpc";
import { addAccountService } from "./account-handlers.ts";
import type { ActiveCalls } from "./active-calls.ts";
import { admittedMethod, admittedServices, requireScope, type Target } from "./admission.ts";
import type { Credentials } from "./credentials.ts";
import { presentedKey, principalKey } from "./edge-context.ts";
import type { EdgeHealth } from "./edge-health.ts";
import { forwardingTo } from "./forwarding.ts";
import type { DeadlineLimits } from "./grpc-copy.ts";
import { healthService } from "./health-service.ts";
import { type HttpRequest, type HttpResponse, pathOf } from "./json-answer.ts";
import { presentedBy } from "./presented.ts";

/** What translating needs. */
export interface TranslatorParts {
  readonly credentials: Credentials;
  readonly transports: Readonly<Record<Target, Transport>>;
  readonly calls: ActiveCalls;
  readonly health: EdgeHealth;
  readonly limits: DeadlineLimits;
  /** Largest message in bytes, after decompression. */
  readonly maxMessageBytes: number;
}

/**
 * Answers rpcs in Connect's own protocol and gRPC-Web, over HTTP/1.1 and HTTP/2, by calls of the same methods
 * in gRPC; and everything that the edge answers itself, in gRPC too. False where the path is no method.
 */
export function createTranslator(parts: TranslatorParts): (request: HttpRequest, response: HttpResponse) => boolean {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    readMaxBytes: parts.maxMessageBytes,
    writeMaxBytes: parts.maxMessageBytes,
    interceptors: [authenticated(parts.credentials)],
  });
  addAccountService(router);
  parts.health.addTo(router);
  for (const { service, target } of admittedServices) {
    if (target === "gateway") continue;
    const forward = forwardingTo(parts.transports[target], parts.calls, parts.limits);
    for (const method of service.methods) router.rpc(method, forward(method));
  }
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const handler = handlers.get(pathOf(request));
    if (handler === undefined) return false;
    const values = createContextValues().set(presentedKey, presentedBy(request));
    handler(universalRequestFromNodeRequest(request, response, undefined, values))
      .then((answer) => universalResponseToNodeResponse(answer, response))
      // Only a client that went away in the middle gets here; it is told nothing any more.
      .catch(() => void response.destroy());
    return true;
  };
}

/** Credentials and scope first, and every error in the one vocabulary. */
function authenticated(credentials: Credentials): Interceptor {
  return (next) => async (request) => {
    if (request.method.parent === healthService) return await next(request);
    try {
      const presented = request.contextValues.get(presentedKey);
      if (presented === undefined) throw new DroverError("INTERNAL", "Internal error.");
      const principal = await credentials.any(presented, true);
      requireScope(principal, admittedMethod(`/${request.method.parent.typeName}/${request.method.name}`));
      request.contextValues.set(principalKey, principal);
      return await next(request);
    } catch (error) {
      throw connectErrorFrom(error);
    }
  };
}
