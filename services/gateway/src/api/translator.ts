import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { DroverError } from "@drover/kernel";
import { connectErrorFrom } from "@drover/rpc";
import { cappedTimeoutHeader, timeoutHeaders } from "../domain/grpc-timeout.ts";
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
    acceptCompression: [compressionGzip, compressionBrotli].map(blamingTheSender),
    readMaxBytes: parts.maxMessageBytes,
    writeMaxBytes: parts.maxMessageBytes,
    requestGate: authenticated(parts.credentials),
    interceptors: [oneVocabulary],
  });
  addAccountService(router);
  parts.health.addTo(router);
  for (const { service, target } of admittedServices) {
    if (target === "gateway") continue;
    const forward = forwardingTo(parts.transports[target], parts.calls, parts.limits);
    for (const method of service.methods) router.rpc(method, forward(method));
  }
  const longestMs = Math.max(parts.limits.unaryMs, parts.limits.streamMs);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const handler = handlers.get(pathOf(request));
    if (handler === undefined) return false;
    const values = createContextValues().set(presentedKey, presentedBy(request));
    const translated = universalRequestFromNodeRequest(request, response, undefined, values);
    for (const name of timeoutHeaders) {
      const asked = translated.header.get(name);
      if (asked !== null) translated.header.set(name, cappedTimeoutHeader(name, asked, longestMs));
    }
    handler(translated)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      // Only a client that went away in the middle gets here; it is told nothing any more.
      .catch(() => void response.destroy());
    return true;
  };
}

/** Credentials and scope, before anything of the body is read, unpacked or parsed. */
function authenticated(credentials: Credentials): (context: HandlerContext) => Promise<void> {
  return async ({ method, values }) => {
    if (method.parent === healthService) return;
    try {
      const presented = values.get(presentedKey);
      if (presented === undefined) throw new DroverError("INTERNAL", "Internal error.");
      const principal = await credentials.any(presented, true);
      requireScope(principal, admittedMethod(`/${method.parent.typeName}/${method.name}`));
      values.set(principalKey, principal);
    } catch (error) {
      throw connectErrorFrom(error);
    }
  };
}

/** Every error of an implementation in Drover's words. */
const oneVocabulary: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    throw connectErrorFrom(error);
  }
};

/** Bytes that do not unpack are the sender's fault; the library calls some of them its own. */
function blamingTheSender(compression: Compression): Compression {
  return {
    ...compression,
    decompress: (bytes, maxBytes) =>
      compression.decompress(bytes, maxBytes).catch((error: unknown) => {
        const known = ConnectError.from(error);
        if (known.code !== Code.Internal) throw known;
        throw new ConnectError(
          `The body is not ${compression.name}.`,
          Code.InvalidArgument,
          undefined,
          undefined,
          error,
        );
      }),
  };
}

type Compression = typeof compressionGzip;
