import type { ServiceImpl } from "@connectrpc/connect";
import type { TaskWork } from "@drover/bus";
import type { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import type { SearchDocuments } from "../application/search-documents.ts";
import { callOf } from "./call-of.ts";

/** The handlers of `drover.rag.v1.RetrievalService`. A task's cancel stops its searches. */
export function retrievalHandlers(search: SearchDocuments, tasks: TaskWork): ServiceImpl<typeof RetrievalService> {
  return {
    async search(request, context) {
      const call = callOf(context);
      const outcome = await tasks.during(call, call.signal, (signal) => search({ ...call, signal }, request));
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
