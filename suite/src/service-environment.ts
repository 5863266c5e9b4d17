import type { IdentityKeys } from "@drover/rpc";
import type { Environment } from "@drover/runtime";
import type { ServiceName } from "./service-names.ts";

/** What the six services of one suite share. */
export interface SuiteParts {
  /** Passed on to every service: model settings, limits, log level. */
  readonly environment: Environment;
  readonly databaseUrl: string;
  /** Absent where the bus is handed over in process. */
  readonly natsUrl?: string;
  readonly keys: IdentityKeys;
  /** The file that the first API key is written to. */
  readonly keyFile: string;
}

const signing: ReadonlySet<ServiceName> = new Set(["gateway", "orchestrator"]);

/**
 * The environment of one service. Only the gateway and the orchestrator get the private identity
 * key. `addresses` holds `host:port` of the services that are known so far.
 */
export function serviceEnvironment(
  service: ServiceName,
  parts: SuiteParts,
  listen: { readonly rpc: string; readonly admin: string },
  addresses: Partial<Record<ServiceName, string>>,
): Environment {
  return {
    ...parts.environment,
    DROVER_LISTEN: listen.rpc,
    DROVER_ADMIN_LISTEN: listen.admin,
    DATABASE_URL: parts.databaseUrl,
    NATS_URL: parts.natsUrl,
    DROVER_IDENTITY_PUBLIC_KEYS: parts.keys.publicKeys,
    DROVER_IDENTITY_PRIVATE_KEY: signing.has(service) ? parts.keys.privateKey : undefined,
    DROVER_FIRST_KEY_FILE: service === "gateway" ? parts.keyFile : undefined,
    ORCHESTRATOR_ADDRESS: addresses.orchestrator,
    SANDBOX_ADDRESS: addresses.sandbox,
    RAG_ADDRESS: addresses.rag,
    MEMORY_ADDRESS: addresses.memory,
    TRACE_ADDRESS: addresses.trace,
  };
}
