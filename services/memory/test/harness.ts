import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type CallOptions, type Client, createClient } from "@connectrpc/connect";
import { blobMigrations } from "@drover/blob";
import { type Bus, createInProcessBus } from "@drover/bus";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { FactService } from "@drover/proto/memory/v1/fact_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { freshDatabase } from "@drover/testkit";
import { startMemory } from "../src/wiring.ts";

/** A running service, its database and a client for each caller. */
export interface MemoryUnderTest extends AsyncDisposable {
  readonly client: Client<typeof ConversationService>;
  readonly facts: Client<typeof FactService>;
  readonly erasure: Client<typeof ErasureService>;
  readonly bus: Bus;
  readonly adminAddress: string;
  readonly databaseUrl: string;
  /** Call options of a caller with every scope of the service. */
  as(tenant: string, subject?: string, trace?: Parameters<typeof actingAs>[1], taskId?: string): CallOptions;
}

/** Starts the service on a database of its own, or on the one at `url`. */
export async function startUnderTest(url?: string, environment: Record<string, string> = {}): Promise<MemoryUnderTest> {
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await using started = new AsyncDisposableStack();
  const databaseUrl =
    url ?? started.use(await freshDatabase({ service: "memory", directory, include: [blobMigrations] })).url;
  const keys = await generateIdentityKeys();
  const bus = started.use(createInProcessBus());
  const service = started.use(
    await startMemory(
      {
        DATABASE_URL: databaseUrl,
        DROVER_LISTEN: "127.0.0.1:0",
        DROVER_ADMIN_LISTEN: "127.0.0.1:0",
        DROVER_LOG_LEVEL: "error",
        DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
        DROVER_SHUTDOWN_GRACE_MS: "1000",
        ...environment,
      },
      { bus },
    ),
  );
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "test" });
  const transport = started.use(createRpcTransport({ addresses: service.address, audience: "memory", minter }));
  const parts = started.move();
  return {
    client: createClient(ConversationService, transport),
    facts: createClient(FactService, transport),
    erasure: createClient(ErasureService, transport),
    bus,
    adminAddress: service.adminAddress,
    databaseUrl,
    as: (tenant, subject = "alice", trace, taskId) => ({
      contextValues: actingAs(
        {
          tenant,
          subject,
          scopes: ["memory:read", "memory:write", "privacy:write"],
          ...(taskId === undefined ? {} : { taskId }),
        },
        trace,
      ),
    }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** A name that no other test uses. */
export function fresh(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 13)}`;
}
