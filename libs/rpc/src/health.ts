import type { DescService } from "@bufbuild/protobuf";
import type { Server } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";

/** Adds `grpc.health.v1` for the server as a whole ("") and each of its services, NOT_SERVING at first. */
export function addHealth(server: Server, services: readonly DescService[]): (serving: boolean) => void {
  const names = ["", ...services.map((service) => service.typeName)];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, "NOT_SERVING" as const])));
  health.addToServer(server);
  return (serving) => {
    for (const name of names) health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  };
}
