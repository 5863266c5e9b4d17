/** Every state of a tool call, in the order of its life. */
const toolCallStates = [
  "PROPOSED",
  "AWAITING",
  "APPROVED",
  "DISPATCHED",
  "SUCCEEDED",
  "FAILED",
  "UNKNOWN",
  "DENIED",
  "CANCELLED",
] as const;

/** Where a tool call is: proposed by the model, allowed or not, sent, and how it ended. */
export type ToolCallState = (typeof toolCallStates)[number];

/** How a call can end. UNKNOWN: it was dispatched, and nothing is known of its outcome. */
export type ToolCallOutcome = "SUCCEEDED" | "FAILED" | "UNKNOWN" | "DENIED" | "CANCELLED";

const open: ReadonlySet<ToolCallState> = new Set(["PROPOSED", "AWAITING", "APPROVED", "DISPATCHED"]);

/** True while the call has no result. */
export function isOpenCall(state: ToolCallState): boolean {
  return open.has(state);
}
