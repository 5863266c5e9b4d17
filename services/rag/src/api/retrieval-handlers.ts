import type { ServiceImpl } from "@connectrpc/connect";
import type { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import type { SearchDocuments } from "../application/search-documents.ts";
import { callOf } from "./call-of.ts";

/** The handlers of `drover.rag.v1.RetrievalService`. */
export function retrievalHandlers(search: SearchDocuments): ServiceImpl<typeof RetrievalService> {
  return {
    async search(request, context) {
      const outcome = await search(callOf(context), request);
      return {
        passages: outcome.passages.map((passage) => ({
          ...passage,
          headingPath: [...passage.headingPath],
          start: BigInt(passage.start),
          end: BigInt(passage.end),
        })),
        vectorLegSkipped: outcome.vectorLegSkipped,
      };
    },
  };
}
