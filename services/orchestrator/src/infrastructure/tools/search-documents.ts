import { createClient, type Transport } from "@connectrpc/connect";
import { headOf } from "@drover/kernel";
import { type Passage, RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { attr } from "@drover/tracing";
import type { Tool } from "../../application/tool-ports.ts";
import { actingFor } from "../acting-for.ts";

const queryCharacters = 2_000;
const mostPassages = 20;

/** search_documents: the passages of the task's document collection that fit a query best. */
export function searchDocumentsTool(transport: Transport): Tool {
  const client = createClient(RetrievalService, transport);
  return {
    spec: {
      name: "search_documents",
      description:
        "Searches the documents of this task's collection (runbooks, rules, manuals) and returns the best passages with their source. Use the words that the document would use.",
      parameters: {
        type: "object",
        properties: {
          query: { type: "string", minLength: 1, maxLength: queryCharacters, description: "What to look for." },
          limit: { type: "integer", minimum: 1, maximum: mostPassages, description: "Passages; default 5." },
        },
        required: ["query"],
        additionalProperties: false,
      },
    },
    timeoutMs: 30_000,
    replay: "safe",
    async execute(args, context, signal) {
      const query = headOf(String(args.query), queryCharacters);
      const limit = typeof args.limit === "number" ? args.limit : 5;
      const { passages, vectorLegSkipped } = await client.search(
        { query, collection: context.collection, limit },
        actingFor(context, ["documents:read"], signal),
      );
      context.span.set({
        [attr.searchQuery]: query,
        [attr.searchHits]: passages.length,
        [attr.searchCollection]: context.collection,
      });
      const skipped = vectorLegSkipped ? " (by words only: the embedding service is away)" : "";
      return {
        ok: true,
        errorCode: "",
        summary: `${passages.length} passages in collection ${JSON.stringify(context.collection)}${skipped}`,
        text: passages.map(shown).join("\n\n"),
        artifacts: [],
        retryable: false,
      };
    },
  };
}

function shown(passage: Passage, index: number): string {
  const heading = passage.headingPath.length === 0 ? "" : ` > ${passage.headingPath.join(" > ")}`;
  const where = `characters ${passage.start} to ${passage.end}`;
  return `[${index + 1}] ${passage.documentName}${heading} (${where})\n${passage.text}`;
}
