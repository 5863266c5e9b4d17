import { fileURLToPath } from "node:url";
import { type CallOptions, type Client, createClient } from "@connectrpc/connect";
import { blobMigrations } from "@drover/blob";
import { type Bus, createInProcessBus } from "@drover/bus";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { freshDatabase } from "@drover/testkit";
import { startRag } from "../src/wiring.ts";

/** A running service, its database and its clients. */
export interface RagUnderTest extends AsyncDisposable {
  readonly documents: Client<typeof DocumentService>;
  readonly retrieval: Client<typeof RetrievalService>;
  readonly erasure: Client<typeof ErasureService>;
  readonly databaseUrl: string;
  readonly bus: Bus;
  /** Call options of a caller of the tenant with every scope of the service, perhaps on behalf of a task. */
  as(tenant: string, taskId?: string): CallOptions;
}

/** Starts the service on a database of its own, or on the one at `url`. */
export async function startUnderTest(
  environment: Readonly<Record<string, string>> = {},
  url?: string,
): Promise<RagUnderTest> {
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await using started = new AsyncDisposableStack();
  const databaseUrl =
    url ?? started.use(await freshDatabase({ service: "rag", directory, include: [blobMigrations] })).url;
  const keys = await generateIdentityKeys();
  const bus = started.use(createInProcessBus());
  const service = started.use(
    await startRag(
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
  const transport = started.use(createRpcTransport({ addresses: service.address, audience: "rag", minter }));
  const parts = started.move();
  return {
    documents: createClient(DocumentService, transport),
    retrieval: createClient(RetrievalService, transport),
    erasure: createClient(ErasureService, transport),
    databaseUrl,
    bus,
    as: (tenant, taskId) => ({
      contextValues: actingAs({
        ...{ tenant, subject: "alice", scopes: ["documents:read", "documents:write", "privacy:write"] },
        ...(taskId === undefined ? {} : { taskId }),
      }),
    }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** The messages of an upload. */
export async function* upload(name: string, content: string | Uint8Array, collection = "", size = 50_000) {
  yield { part: { case: "header" as const, value: { collection, name } } };
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  for (let at = 0; at < bytes.length; at += size) {
    yield { part: { case: "chunk" as const, value: bytes.subarray(at, at + size) } };
  }
}
