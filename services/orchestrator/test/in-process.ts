import { createClient } from "@connectrpc/connect";
import { createInProcessBus } from "@drover/bus";
import type { Message, ModelGateway } from "@drover/model";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { ToolServerService } from "@drover/proto/orchestrator/v1/tool_server_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { noopTracer } from "@drover/tracing";
import type { ConversationMemory } from "../src/application/ports.ts";
import type { Tool } from "../src/application/tool-ports.ts";
import type { LoggedMessage } from "../src/domain/conversation.ts";
import { createToolBox } from "../src/infrastructure/tools/tool-box.ts";
import { startOrchestrator } from "../src/wiring.ts";

/** What stands in for the world around the service. */
export interface InProcessOptions {
  /** A Postgres database; the schema is migrated. */
  readonly url: string;
  readonly model: ModelGateway;
  readonly tools: readonly Pick<Tool, "spec" | "execute">[];
  /** Tasks at once, and connections to the database. */
  readonly slots: number;
  /** Further settings of the service. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Every address of a peer leads nowhere: nothing may be called. */
const nowhere = "127.0.0.1:9";

/**
 * The service as it is wired, in this process: its rpcs, its worker and its record on Postgres. The model and the tools
 * are the caller's, conversations are kept in this process, the bus is the one of the embedded profile, and a run
 * leaves no trace.
 */
export async function startInProcess(options: InProcessOptions) {
  await using started = new AsyncDisposableStack();
  const keys = await generateIdentityKeys();
  const environment = {
    ...{ DROVER_LISTEN: "127.0.0.1:0", DROVER_ADMIN_LISTEN: "127.0.0.1:0", DROVER_LOG_LEVEL: "warn" },
    ...{ DATABASE_URL: options.url, DATABASE_POOL_MAX: String(options.slots) },
    ...{
      MEMORY_ADDRESS: nowhere,
      SANDBOX_ADDRESS: nowhere,
      RAG_ADDRESS: nowhere,
      TRACE_ADDRESS: nowhere,
      OPENAI_API_KEY: "none",
    },
    ...{ DROVER_WORKER_SLOTS: String(options.slots), DROVER_TENANT_RUNNING: String(options.slots) },
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
    DROVER_IDENTITY_PRIVATE_KEY: keys.privateKey,
    ...options.settings,
  };
  const tools = createToolBox(options.tools.map((tool) => ({ timeoutMs: 10_000, replay: "safe", ...tool })));
  const bus = started.use(createInProcessBus());
  const service = started.use(
    await startOrchestrator(environment, {
      bus,
      outside: { model: options.model, memory: memoryInProcess(), tools, tracer: noopTracer },
      // More rounds than a client may ask for.
      intercept: ({ store, signals }) => ({
        signals,
        store: { ...store, submit: (task, ...rest) => store.submit({ ...task, maxRounds: 10_000 }, ...rest) },
      }),
    }),
  );
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const transport = started.use(createRpcTransport({ addresses: service.address, audience: "orchestrator", minter }));
  const client = createClient(TaskService, transport);
  const scopes = ["tasks:read", "tasks:write", "toolservers:read", "toolservers:write"];
  const as = { contextValues: actingAs({ tenant: "bench", subject: "bench", scopes }) };
  const owned = started.move();
  return {
    /** The rpcs of tool servers, on behalf of the tenant whose tasks are run. */
    servers: createClient(ToolServerService, transport),
    as,
    publicKeys: keys.publicKeys,
    /** Submits a task and waits until it has succeeded; `answered` resolves when its model has given the answer. */
    async run(prompt: string, answered: Promise<void>): Promise<void> {
      const { task } = await client.submitTask({ prompt }, as);
      if (task === undefined) throw new Error("There is no task.");
      await answered;
      for (;;) {
        const { task: now } = await client.getTask({ taskId: task.id }, as);
        if (now?.state === TaskState.SUCCEEDED) return;
        if (now?.state === TaskState.FAILED) throw new Error(`The task failed: ${now.failureMessage}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Conversations kept as lists; the memory service keeps them elsewhere. */
function memoryInProcess(): ConversationMemory {
  const conversations = new Map<string, LoggedMessage[]>();
  const append = (conversationId: string, messages: readonly LoggedMessage[]) => {
    const kept = conversations.get(conversationId) ?? [];
    conversations.set(conversationId, kept);
    kept.push(...messages);
    return kept;
  };
  return {
    append: async (_scope, conversationId, messages) => void append(conversationId, messages),
    spill: async (_scope, { callId }) => `spill://${callId}`,
    buildContext: async (_scope, request) => append(request.conversationId, request.append).map(messageOf),
  };
}

function messageOf(message: LoggedMessage): Message {
  if (message.role === "tool") return { role: "tool", callId: message.toolCallId, text: message.text };
  if (message.role === "user") return { role: "user", text: message.text };
  return { role: "assistant", text: message.text, toolCalls: message.toolCalls };
}
