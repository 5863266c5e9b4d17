import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, MethodImpl } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { connectErrorFrom } from "@drover/rpc";
import { admittedServices } from "./admission.ts";
import { healthService, type ServingStatus, servingStatus } from "./health-service.ts";

/** Whether the edge serves; the services behind it are asked at their own addresses. */
export interface EdgeHealth {
  setServing(serving: boolean): void;
  /** Adds `grpc.health.v1.Health` to a router. It needs no credentials. */
  addTo(router: ConnectRouter): void;
}

const known: ReadonlySet<string> = new Set(["", ...admittedServices.map(({ service }) => service.typeName)]);

/** Health that starts as NOT_SERVING. */
export function createEdgeHealth(): EdgeHealth {
  let status: ServingStatus = servingStatus.notServing;
  const listeners = new Set<() => void>();
  const statusOf = (service: string): ServingStatus => (known.has(service) ? status : servingStatus.serviceUnknown);

  async function* watch(service: string, { signal }: HandlerContext) {
    let told: ServingStatus | undefined;
    while (!signal.aborted) {
      const now = statusOf(service);
      if (now !== told) yield { status: now };
      told = now;
      await new Promise<void>((resolve) => {
        const wake = () => {
          listeners.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        listeners.add(wake);
        signal.addEventListener("abort", wake);
        if (signal.aborted || statusOf(service) !== told) wake();
      });
    }
  }

  return {
    setServing(serving) {
      status = serving ? servingStatus.serving : servingStatus.notServing;
      for (const wake of [...listeners]) wake();
    },
    addTo(router) {
      const check = (request: Message) => {
        const service = serviceIn(request);
        if (known.has(service)) return { status: statusOf(service) };
        throw connectErrorFrom(new DroverError("NOT_FOUND", "The edge does not know this service."));
      };
      const watching = (request: Message, context: HandlerContext) => watch(serviceIn(request), context);
      for (const method of healthService.methods) {
        router.rpc(method, (method.name === "Check" ? check : watching) as MethodImpl<DescMethod>);
      }
    },
  };
}

function serviceIn(request: Message): string {
  return "service" in request && typeof request.service === "string" ? request.service : "";
}
