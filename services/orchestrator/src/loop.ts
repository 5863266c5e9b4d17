import type { Bus } from "@drover/bus";
import { systemClock } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { createIdentityMinter } from "@drover/rpc";
import type { Logger } from "@drover/runtime";
import type { Tracer } from "@drover/tracing";
import type { TaskSignals, TaskStore } from "./application/ports.ts";
import type { RunParts } from "./application/run-task.ts";
import {
  contextLimitsOf,
  decisionTimesOf,
  loopLimitsOf,
  modelEndpointOf,
  peerAddressesOf,
  type readConfig,
} from "./config.ts";
import { composeDecisions } from "./decisions.ts";
import { createAgentCatalog, createAnswerChecks } from "./infrastructure/answer-checks.ts";
import { connectPeers, openModel } from "./infrastructure/peers.ts";
import { promptTokens } from "./infrastructure/prompt-tokens.ts";
import { createRpcMemory } from "./infrastructure/rpc-memory.ts";
import { createRpcWorkspaces } from "./infrastructure/rpc-workspaces.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";
import { CodeLanguages } from "./infrastructure/tools/code-languages.ts";
import { standardTools } from "./infrastructure/tools/standard-tools.ts";
import { createToolBox } from "./infrastructure/tools/tool-box.ts";
import { composeToolServers } from "./tool-servers.ts";

/** What the embedded profile gives to all services of its process. */
export interface SharedParts {
  readonly bus?: Bus;
  /** Stands between the loop and its record, so that a test can fail there. Nothing in an environment can set it. */
  readonly intercept?: (parts: RecordParts) => RecordParts;
  /** Takes the place of what the loop calls, so that a benchmark measures the loop alone. */
  readonly outside?: Partial<Pick<RunParts, "model" | "memory" | "tools" | "tracer">>;
}

/** What the loop writes with. */
export interface RecordParts {
  readonly store: TaskStore;
  readonly signals: TaskSignals;
}

/**
 * Composes what works on tasks: the other services, the model, the tools, the decisions on calls and the checks of
 * answers. What has to be closed is left to `started`.
 */
export function composeLoop(
  started: AsyncDisposableStack,
  parts: RecordParts & {
    readonly config: ReturnType<typeof readConfig>;
    readonly database: Database<OrchestratorSchema>;
    readonly bus: Bus;
    readonly logger: Logger;
    readonly tracer: Tracer;
    readonly outside: NonNullable<SharedParts["outside"]>;
    readonly onFault: (fault: unknown, what: string) => void;
  },
) {
  const { config, database, bus, logger, store, signals, tracer, outside, onFault } = parts;
  const minter = createIdentityMinter({ privateKey: config.DROVER_IDENTITY_PRIVATE_KEY, issuer: "orchestrator" });
  const maxMessageBytes = config.DROVER_MAX_MESSAGE_BYTES;
  const peers = started.use(connectPeers({ addresses: peerAddressesOf(config), minter, maxMessageBytes }));
  const { model, egress } = openModel(modelEndpointOf(config));
  started.use(egress);
  const languages = started.use(new CodeLanguages(peers.sandbox, config.DROVER_CODE_LANGUAGES));
  const standard = { ...peers, languages, patienceMs: config.DROVER_TOOL_PATIENCE_MS };
  const tools = outside.tools ?? createToolBox(standardTools(standard));
  const servers = composeToolServers({ config, database, bus, minter, tools, onFault, logger });
  const { catalog } = servers;
  started.use(catalog);
  const deciding = { database, signals, tools, catalog, tracer, onFault };
  const decisions = composeDecisions({ ...deciding, ...decisionTimesOf(config) });
  const run: RunParts = {
    ...{
      tools,
      catalog,
      choice: servers.choice,
      policies: decisions.book,
      store,
      signals,
      tracer,
      model,
      onFault,
      clock: systemClock,
    },
    memory: createRpcMemory(peers.memory, contextLimitsOf(config)),
    workspaces: createRpcWorkspaces(peers.sandbox),
    ...loopLimitsOf(config),
    promptTokens,
    checks: createAnswerChecks(peers.sandbox, decisions.patterns),
    ...outside,
  };
  const names = tools.specs.map((spec) => spec.name);
  const agents = createAgentCatalog(names, languages, decisions.patterns);
  return { run, peers, decisions, servers, catalog: agents };
}
