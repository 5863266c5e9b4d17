import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import type { TraceService } from "@drover/proto/trace/v1/trace_service";
import { callerOf } from "@drover/rpc";
import type { TraceReader } from "../application/ports.ts";
import { checkTraceId, getSpan, getTrace, listTraces } from "../application/read-traces.ts";
import { type WatchParts, watchTrace } from "../application/watch-trace.ts";
import { payloadOf, spanOf, summaryOf } from "./to-proto.ts";

/** The rpcs of TraceService over the use cases. */
export function createTraceService(parts: {
  readonly reader: TraceReader;
  readonly watch: WatchParts;
  /** Largest answer of GetTrace. */
  readonly maxTraceBytes: number;
}): ServiceImpl<typeof TraceService> {
  const { reader } = parts;
  return {
    async listTraces(request, context) {
      const query = { pageSize: request.pageSize, pageToken: request.pageToken, taskId: request.taskId };
      const page = await listTraces(reader, callerOf(context).tenant, query, context.signal);
      return { traces: page.rows.map(summaryOf), nextPageToken: page.nextPageToken };
    },
    async getTrace({ traceId }, context) {
      const key = { tenant: callerOf(context).tenant, traceId };
      const { row, spans } = await getTrace(reader, key, parts.maxTraceBytes, context.signal);
      return { trace: summaryOf(row), spans: spans.map(spanOf) };
    },
    async getSpan({ traceId, spanId }, context) {
      const key = { tenant: callerOf(context).tenant, traceId };
      const found = await getSpan(reader, key, spanId, context.signal);
      return { span: spanOf(found), payloads: found.payloads.map(payloadOf) };
    },
    async *watchTrace({ traceId, afterRevision }, context) {
      checkTraceId(traceId);
      const after = Number(afterRevision);
      if (!Number.isSafeInteger(after) || after < 0) {
        throw invalidField("after_revision", String(afterRevision), "0 or a revision that was received");
      }
      const key = { tenant: callerOf(context).tenant, traceId };
      for await (const piece of watchTrace(parts.watch, key, after, context.signal)) {
        const trace = piece.row === undefined ? {} : { trace: summaryOf(piece.row) };
        yield { ...trace, revision: BigInt(piece.revision), spans: piece.spans.map(spanOf) };
      }
    },
  };
}
