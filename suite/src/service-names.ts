/** The services in the order they start: whoever is called stands before its callers. */
export const serviceNames = ["sandbox", "rag", "memory", "trace", "orchestrator", "gateway"] as const;

export type ServiceName = (typeof serviceNames)[number];

/** Default gRPC ports; a service's admin server listens 100 above. */
export const defaultPorts: Readonly<Record<ServiceName, number>> = {
  gateway: 7700,
  orchestrator: 7701,
  sandbox: 7702,
  rag: 7703,
  memory: 7704,
  trace: 7705,
};
