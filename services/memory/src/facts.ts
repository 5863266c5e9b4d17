import type { Database } from "@drover/postgres";
import type { Logger } from "@drover/runtime";
import type { Tracer } from "@drover/tracing";
import type { FactUseCases } from "./api/fact-handlers.ts";
import { createExtractFacts } from "./application/extract-facts.ts";
import { createForgetFact } from "./application/forget-fact.ts";
import { createListFacts } from "./application/list-facts.ts";
import type { MemoryConfig } from "./config.ts";
import { openExtractionModel } from "./infrastructure/extraction-model.ts";
import { createFactStore } from "./infrastructure/fact-store.ts";
import type { MemorySchema } from "./infrastructure/schema.ts";

/** Composes long-term memory. What has to be closed is left to `started`. */
export function composeFacts(
  started: AsyncDisposableStack,
  parts: {
    readonly config: MemoryConfig;
    readonly database: Database<MemorySchema>;
    readonly tracer: Tracer;
    readonly logger: Logger;
  },
): FactUseCases {
  const { config, database, tracer, logger } = parts;
  const store = createFactStore(database, config.facts);
  const opened = config.extraction === undefined ? undefined : openExtractionModel(config.extraction);
  if (opened === undefined) {
    logger.info("Extraction of facts is off: OPENAI_API_KEY is not set, or MEMORY_EXTRACTION is false.");
  } else started.use(opened.egress);
  return {
    extract: createExtractFacts({ store, tracer, model: opened?.model }),
    list: createListFacts(store),
    forget: createForgetFact(store),
  };
}
