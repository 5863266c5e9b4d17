import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { type Bus, connectNats } from "@drover/bus";
import type { TaskEvent } from "@drover/proto/event/v1/task_event";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { ApprovalService } from "@drover/proto/orchestrator/v1/approval_service";
import { PrivacyService } from "@drover/proto/orchestrator/v1/privacy_service";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { ToolServerService } from "@drover/proto/orchestrator/v1/tool_server_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import type { Environment } from "@drover/runtime";
import { freshDatabase } from "@drover/testkit";
import { type Script, startScriptedModel } from "@drover/testkit/scripted-model";
import { inject } from "vitest";
import { type SharedParts, startOrchestrator } from "../src/wiring.ts";
import { startFakePeers } from "./fake-peers.ts";

const directory = fileURLToPath(new URL("../migrations", import.meta.url));

/**
 * Everything around the orchestrator but itself: database, NATS, scripted model, fake peers, identities. `own` are
 * servers that the test may stop; without them it uses those that all tests share.
 */
export async function startHarness(script?: Script, own?: { readonly databaseUrl: string; readonly natsUrl: string }) {
  await using started = new AsyncDisposableStack();
  const keys = await generateIdentityKeys();
  const natsUrl = own?.natsUrl ?? inject("natsUrl");
  const url = own?.databaseUrl ?? started.use(await freshDatabase({ service: "orchestrator", directory })).url;
  const peers = started.use(await startFakePeers(keys.publicKeys));
  const model = started.use(await startScriptedModel(script === undefined ? {} : { script }));
  const bus: Bus = started.use(await connectNats({ url: natsUrl, name: "test", logger: { warn: () => undefined } }));
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const environment: Environment = {
    ...peers.environment,
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_LOG_LEVEL: "silent",
    DATABASE_URL: url,
    NATS_URL: natsUrl,
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
    DROVER_IDENTITY_PRIVATE_KEY: keys.privateKey,
    DROVER_SHUTDOWN_GRACE_MS: "2000",
    DROVER_PEER_PATIENCE_MS: "3000",
    DROVER_MODEL_RETRIES: "1",
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: model.apiKey,
  };
  const owned = started.move();
  return {
    bus,
    model,
    peers: peers.state,
    database: { url },
    environment,
    /** A client of the replica at `address`, which speaks for `subject` of `tenant`. */
    connect(address: string) {
      const transport = createRpcTransport({ addresses: address, audience: "orchestrator", minter });
      return {
        client: createClient(TaskService, transport),
        approvals: createClient(ApprovalService, transport),
        agents: createClient(AgentService, transport),
        privacy: createClient(PrivacyService, transport),
        servers: createClient(ToolServerService, transport),
        as: (tenant: string, scopes: readonly string[] = ["tasks:read", "tasks:write"], subject = "alice") => ({
          contextValues: actingAs({ tenant, subject, scopes }),
        }),
        [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
      };
    },
    /** Starts a replica in this process, with a client of it. */
    async orchestrator(changes: Environment = {}, shared: SharedParts = {}) {
      const service = await startOrchestrator({ ...environment, ...changes }, shared);
      const replica = this.connect(service.address);
      return {
        ...replica,
        service,
        async [Symbol.asyncDispose]() {
          await replica[Symbol.asyncDispose]();
          await service[Symbol.asyncDispose]();
        },
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export type Harness = Awaited<ReturnType<typeof startHarness>>;
export type Replica = ReturnType<Harness["connect"]>;

/** Submits a task and returns it. */
export async function submit(replica: Replica, tenant: string, prompt: string, fields = {}): Promise<Task> {
  const { task } = await replica.client.submitTask({ prompt, ...fields }, replica.as(tenant));
  if (task === undefined) throw new Error("no task");
  return task;
}

/** All events of a task up to its end. */
export async function eventsOf(replica: Replica, tenant: string, taskId: string, after = 0n): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  const request = { taskId, afterSequence: after };
  for await (const { message } of replica.client.watchTask(request, replica.as(tenant))) {
    if (message.case === "event") events.push(message.value);
  }
  return events;
}

/** The task once it has ended. */
export async function ended(replica: Replica, tenant: string, taskId: string): Promise<Task> {
  await eventsOf(replica, tenant, taskId);
  const { task } = await replica.client.getTask({ taskId }, replica.as(tenant));
  if (task === undefined) throw new Error("no task");
  return task;
}

/** Name of a state, for assertions that can be read. */
export function stateName(value: number): string {
  return Object.entries(TaskState).find(([, number]) => number === value)?.[0] ?? String(value);
}

/** Waits until `check` holds. */
export async function until(check: () => boolean, ms = 20_000): Promise<void> {
  const end = performance.now() + ms;
  while (!check()) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
