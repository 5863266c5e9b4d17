import type { Bus } from "@drover/bus";
import { createCheckedResolver } from "@drover/egress";
import { systemClock } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { ToolServerService } from "@drover/proto/orchestrator/v1/tool_server_service";
import type { IdentityMinter, RpcRouter } from "@drover/rpc";
import type { Logger } from "@drover/runtime";
import { createToolServerService } from "./api/tool-server-service.ts";
import type { TaskToolParts } from "./application/task-tools.ts";
import { startToolCatalog } from "./application/tool-catalog.ts";
import type { ToolBox } from "./application/tool-ports.ts";
import { type readConfig, toolServerAccessOf, toolServerTimesOf } from "./config.ts";
import { createToolServerSignals } from "./infrastructure/bus-tool-signals.ts";
import { createPostgresToolServerStore } from "./infrastructure/postgres-tool-server-store.ts";
import { promptTokens } from "./infrastructure/prompt-tokens.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";
import { createToolServerOpener } from "./infrastructure/tool-servers/opener.ts";
import { createSecretLookup } from "./infrastructure/tool-servers/secret-headers.ts";
import { createForeignToolBox } from "./infrastructure/tools/tool-box.ts";

/** Composes the catalogue of tools: the local ones, the servers of every tenant, and the rpcs about them. */
export function composeToolServers(parts: {
  readonly config: ReturnType<typeof readConfig>;
  readonly database: Database<OrchestratorSchema>;
  readonly bus: Bus;
  readonly minter: IdentityMinter;
  readonly tools: ToolBox;
  readonly logger: Logger;
  readonly onFault: (fault: unknown, what: string) => void;
}) {
  const { config, database, bus, minter, tools, logger, onFault } = parts;
  const { rules, secrets, secretsDirectory } = toolServerAccessOf(config);
  const store = createPostgresToolServerStore(database);
  const signals = createToolServerSignals(bus, onFault);
  const opener = createToolServerOpener({
    ...{ minter, maxMessageBytes: config.DROVER_MAX_MESSAGE_BYTES },
    resolve: createCheckedResolver(rules),
    secrets: createSecretLookup(secrets, secretsDirectory),
  });
  const catalog = startToolCatalog({
    ...{ store, signals, opener, onFault, local: tools, boxOf: createForeignToolBox, clock: systemClock },
    ...toolServerTimesOf(config),
    onCollision: (collision) => logger.warn(collision, "a tool is not offered: its name is taken"),
  });
  const choice: TaskToolParts = {
    ...{ promptTokens, boxOf: createForeignToolBox },
    maxSchemaTokens: config.DROVER_TOOL_SCHEMA_TOKENS,
  };
  return {
    catalog,
    choice,
    serve: (router: RpcRouter) =>
      router.service(ToolServerService, createToolServerService({ servers: store, signals, catalog })),
  };
}
