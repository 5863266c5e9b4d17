import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ApprovalService } from "@drover/proto/orchestrator/v1/approval_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { createIdentityVerifier, generateIdentityKeys, type RpcServer, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics, type Environment, type RunningService } from "@drover/runtime";
import { freshDatabase } from "@drover/testkit";
import { startGateway } from "../src/wiring.ts";
import { fakeApprovals } from "./fake-approvals.ts";
import { fakeTasks, type Seen } from "./fake-tasks.ts";

const keys = await generateIdentityKeys();

/** A gateway with a real database between fake services and a test. */
export interface EdgeFixture extends AsyncDisposable {
  readonly gateway: RunningService;
  /** `http://host:port`. */
  readonly url: string;
  readonly key: string;
  readonly bearer: { readonly authorization: string };
  readonly seen: Seen;
  readonly orchestratorAddress: string;
  readonly databaseUrl: string;
  /** What the gateway was started with. */
  readonly environment: Environment;
  /** A folder for this fixture, removed with it. */
  readonly folder: string;
  /** Ends the fake orchestrator at once, as a crash would as far as the wire is concerned. */
  stopOrchestrator(): Promise<void>;
  /** Starts it again on the same port. */
  startOrchestrator(): Promise<void>;
}

/** Starts one; `environment` goes over the gateway's defaults for tests. */
export async function startEdge(environment: Environment = {}): Promise<EdgeFixture> {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "drover-gateway-"));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const directory = resolve(import.meta.dirname, "../migrations");
  const database = started.use(await freshDatabase({ service: "gateway", directory }));
  const seen: Seen = { aborted: [] };
  let orchestrator = await serve("orchestrator", "127.0.0.1:0", (router) =>
    router.service(TaskService, fakeTasks(seen)).service(ApprovalService, fakeApprovals(seen)),
  );
  const orchestratorAddress = orchestrator.address;
  started.defer(() => orchestrator[Symbol.asyncDispose]());
  const rag = started.use(
    await serve("rag", "127.0.0.1:0", (router) =>
      router.service(DocumentService, {
        async uploadDocument(parts) {
          let bytes = 0n;
          for await (const { part } of parts) if (part.case === "chunk") bytes += BigInt(part.value.length);
          return { result: { case: "document", value: { sizeBytes: bytes } } };
        },
      }),
    ),
  );
  const key = `drv_${randomBytes(6).toString("hex")}_${randomBytes(32).toString("base64url")}`;
  const gatewayEnvironment: Environment = {
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_LOG_LEVEL: "silent",
    DATABASE_URL: database.url,
    DROVER_IDENTITY_PRIVATE_KEY: keys.privateKey,
    DROVER_BOOTSTRAP_KEY: key,
    DROVER_VIEWER_DIR: join(folder, "viewer"),
    ORCHESTRATOR_ADDRESS: orchestratorAddress,
    RAG_ADDRESS: rag.address,
    DROVER_SHUTDOWN_GRACE_MS: "1000",
    ...environment,
  };
  const gateway = started.use(await startGateway(gatewayEnvironment));
  const owned = started.move();
  return {
    gateway,
    url: `http://${gateway.address}`,
    key,
    bearer: { authorization: `Bearer ${key}` },
    seen,
    orchestratorAddress,
    databaseUrl: database.url,
    environment: gatewayEnvironment,
    folder,
    async stopOrchestrator() {
      await orchestrator[Symbol.asyncDispose]();
    },
    async startOrchestrator() {
      orchestrator = await serve("orchestrator", orchestratorAddress, (router) =>
        router.service(TaskService, fakeTasks(seen)).service(ApprovalService, fakeApprovals(seen)),
      );
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Hosts a fake service that accepts the fixture's identities. */
export async function serve(
  service: string,
  listen: string,
  routes: Parameters<typeof startRpcServer>[0]["routes"],
): Promise<RpcServer> {
  const server = await startRpcServer({
    service,
    listen,
    routes,
    identity: createIdentityVerifier({ publicKeys: keys.publicKeys, audience: service }),
    logger: createLogger({ service, level: "silent" }),
    metrics: createMetrics(service),
    graceMs: 20,
  });
  server.setServing(true);
  return server;
}
