import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Server, UntypedServiceImplementation } from "@grpc/grpc-js";
import { createAdmission } from "./admission.ts";
import type { ActiveCalls, MethodRunner } from "./call-runner.ts";
import { definitionsOf } from "./codec.ts";
import { hostBidiStream, hostClientStream, hostServerStream, type StreamImplementation } from "./host-stream.ts";
import { hostUnary, type UnaryImplementation } from "./host-unary.ts";
import type { IdentityVerifier } from "./identity-verifier.ts";
import type { RpcServerLimits } from "./limits.ts";
import type { CallObserver } from "./observation.ts";

/** Where a service registers what it implements. */
export interface RpcRouter {
  /** Hosts a service; methods that `implementation` lacks answer UNIMPLEMENTED. */
  service<S extends DescService>(service: S, implementation: Partial<ServiceImpl<S>>): RpcRouter;
}

/** What the router needs of the server around it. */
export interface RouterParts {
  readonly identity: IdentityVerifier;
  readonly limits: RpcServerLimits;
  readonly observe: (method: DescMethod) => CallObserver;
  readonly active: ActiveCalls;
}

/** A router that hosts on `server` and remembers in `services` what it hosted. */
export function createRouter(server: Server, services: DescService[], parts: RouterParts): RpcRouter {
  const router: RpcRouter = {
    service(service, implementation) {
      services.push(service);
      server.addService(definitionsOf(service), handlersOf(service, implementation, parts));
      return router;
    },
  };
  return router;
}

function handlersOf(service: DescService, implementation: object, parts: RouterParts): UntypedServiceImplementation {
  const handlers: UntypedServiceImplementation = {};
  const methods: Readonly<Record<string, unknown>> = { ...bound(implementation, service) };
  for (const method of service.methods) {
    const handle = methods[method.localName];
    if (typeof handle === "function") handlers[method.localName] = host(method, handle, parts);
  }
  return handlers;
}

/** The methods of an implementation that may be a class: they keep their `this`. */
function bound(implementation: object, service: DescService): Record<string, unknown> {
  return Object.fromEntries(
    service.methods.map(({ localName }) => {
      const method: unknown = Reflect.get(implementation, localName);
      return [localName, typeof method === "function" ? method.bind(implementation) : undefined];
    }),
  );
}

// The registration `service(S, Partial<ServiceImpl<S>>)` has checked each handler against its method's types.
function host(method: DescMethod, handle: unknown, parts: RouterParts): UntypedServiceImplementation[string] {
  const { limits } = parts;
  const runner: MethodRunner = {
    method,
    admit: createAdmission(method, parts.identity, limits.maxMetadataBytes),
    observe: parts.observe(method),
    active: parts.active,
  };
  switch (method.methodKind) {
    case "unary":
      return hostUnary(method, handle as UnaryImplementation, runner, limits);
    case "client_streaming":
      return hostClientStream(method, handle as UnaryImplementation, runner, limits);
    case "server_streaming":
      return hostServerStream(method, handle as StreamImplementation, runner, limits);
    case "bidi_streaming":
      return hostBidiStream(method, handle as StreamImplementation, runner, limits);
  }
}
