import { attr, type Span, type Tracer } from "@drover/tracing";
import { rootSpanId } from "../domain/task.ts";

/** The wait for one decision, as every replica can name it. */
interface ApprovalWait {
  readonly tenant: string;
  readonly taskId: string;
  readonly traceId: string;
  readonly approvalId: string;
  readonly callId: string;
  readonly tool: string;
}

/** How the wait ended. */
interface WaitEnd {
  /** `approved`, `denied`, `expired` or `withdrawn`. */
  readonly decision: string;
  readonly actor: string;
  /** Empty for none. */
  readonly comment: string;
}

/** Begins the span of a wait, which no process has to live for: whoever hears of the decision ends it. */
export function beginWait(tracer: Tracer, wait: ApprovalWait, why: string): void {
  const span = startWait(tracer, wait);
  span.event("approval", { text: `${wait.tool} waits for somebody's decision: ${why}.` });
  span.release();
}

/** Ends the span of a wait with who decided what. */
export function endWait(tracer: Tracer, wait: ApprovalWait, { decision, actor, comment }: WaitEnd): void {
  const span = startWait(tracer, wait);
  const attributes = {
    [attr.approvalDecision]: decision,
    [attr.actor]: actor === "" ? undefined : actor,
    [attr.reason]: comment === "" ? undefined : comment,
  };
  span.event("approval", { text: `${decision}${actor === "" ? "" : ` by ${actor}`}.`, attributes });
  span.end({ attributes });
}

/** The same span in every process: its ids and its beginning follow from the approval's id, a UUIDv7. */
function startWait(tracer: Tracer, wait: ApprovalWait): Span {
  const { tenant, taskId, traceId, approvalId, callId, tool } = wait;
  return tracer.start({
    ...{ tenant, taskId, name: `approval of ${tool}`, kind: "wait" },
    identity: { traceId, spanId: rootSpanId(approvalId) },
    parent: { traceId, spanId: rootSpanId(taskId) },
    startedAt: new Date(Number.parseInt(approvalId.replaceAll("-", "").slice(0, 12), 16)),
    attributes: {
      [attr.waitFor]: "approval",
      [attr.approvalId]: approvalId,
      [attr.toolName]: tool,
      [attr.toolCallId]: callId,
    },
  });
}
