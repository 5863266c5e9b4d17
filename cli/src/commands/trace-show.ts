import { notFound } from "@drover/kernel";
import { SpanSchema, TraceSummarySchema } from "@drover/proto/trace/v1/trace";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { exitCodes } from "../exit-codes.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { traceLines } from "../render/trace-tree.ts";
import type { Session } from "../session.ts";
import { taskIdOf } from "../task-id.ts";

/** Shows a trace as a tree; `written` is a trace's 32 hexadecimal digits, or a task's id. */
export async function showTrace(session: Session, written: string): Promise<number> {
  const { terminal, signal } = session;
  const traces = session.client(TraceService);
  const traceId = /^[0-9a-f]{32}$/i.test(written) ? written.toLowerCase() : await traceOfTask(session, written);
  const { trace, spans } = await traces.getTrace({ traceId }, { signal });
  if (trace === undefined) throw notFound("trace", traceId);
  if (session.json) {
    printJson(terminal, {
      trace: jsonOf(TraceSummarySchema, trace),
      spans: spans.map((span) => jsonOf(SpanSchema, span)),
    });
  } else {
    terminal.print(`${traceLines(trace, spans, terminal).join("\n")}\n`);
  }
  return exitCodes.ok;
}

async function traceOfTask(session: Session, written: string): Promise<string> {
  const taskId = await taskIdOf(session, written);
  const { traces } = await session.client(TraceService).listTraces({ taskId, pageSize: 1 }, { signal: session.signal });
  if (traces[0] === undefined) throw notFound("trace of task", taskId);
  return traces[0].traceId;
}
