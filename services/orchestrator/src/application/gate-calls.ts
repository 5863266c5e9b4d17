import { type Clock, newId } from "@drover/kernel";
import { unknownOutcomeReason } from "../domain/approval.ts";
import type { Policy } from "../domain/policy.ts";
import { policyLimits } from "../domain/policy-faults.ts";
import type { ToolCallRecord } from "../domain/step.ts";
import type { TaskEventBody } from "../domain/task-event.ts";
import type { ToolResult } from "../domain/tool-result.ts";
import { toolFailure } from "../domain/tool-result.ts";
import { completedEvent } from "./end-task.ts";
import { refusalOf } from "./offered-tools.ts";
import type { Judge } from "./policy-book.ts";
import type { CallResult, Intent, NewApproval, TaskChange } from "./ports.ts";
import type { ToolBox } from "./tool-ports.ts";

/** The state of a task whose calls wait for somebody; its worker lets go with the commit. */
const waiting = { to: "WAITING_APPROVAL", actor: "policy", reason: "", input: "approval_required" } as const;

/**
 * Judges a whole batch of calls before any of it runs, as parts of the commit that records them: what is denied gets its
 * result, what must be approved waits, and then the whole batch waits. A call that no tool would take is not judged: it
 * gets its refusal as it would have without rules. A rule that cannot be applied to a call denies it.
 */
export function gateCalls(
  parts: { readonly tools: ToolBox; readonly clock: Clock; readonly maxCalls: number },
  call: { readonly agent: string; readonly offered: readonly string[]; readonly judge: Judge },
  intents: readonly Intent[],
): Pick<TaskChange, "intents" | "approvals" | "results" | "events" | "state"> {
  const approvals: NewApproval[] = [];
  const results: CallResult[] = [];
  const events: TaskEventBody[] = [];
  const judged = intents.map((intent): Intent => {
    const resolved = parts.tools.resolve(intent.tool, intent.arguments);
    const taken = intent.ordinal < parts.maxCalls && refusalOf(intent.tool, call.offered) === undefined;
    if ("refused" in resolved || !taken) return intent;
    const rule = ruleFor(call.judge, { agent: call.agent, tool: intent.tool, args: resolved.args });
    if (rule === undefined) return intent;
    const marked = { ...intent, policyEffect: rule.effect, policyRule: rule.name };
    if (rule.effect === "allow") return { ...marked, allowedCommands: rule.allowedCommands };
    if (rule.effect === "deny") {
      const result = deniedResult(intent.callId, rule);
      results.push(result);
      events.push(completedEvent(result, intent.tool));
      return marked;
    }
    const approval = approvalOf(intent, rule, rule.name, rule.reason);
    approvals.push(approval);
    events.push(requiredEvent(approval, parts.clock));
    return { ...marked, approval: { id: approval.id } };
  });
  return {
    intents: judged,
    events,
    ...(results.length === 0 ? {} : { results }),
    ...(approvals.length === 0 ? {} : { approvals, state: waiting }),
  };
}

/**
 * The change that lets calls wait whose outcome is unknown, where a rule says that somebody is asked; the others of
 * `lost` are named in `unknown`, to get an honest result.
 */
export function parkUnknown(
  parts: { readonly clock: Clock },
  call: { readonly agent: string; readonly judge: Judge },
  lost: readonly {
    readonly record: ToolCallRecord;
    readonly args: Readonly<Record<string, unknown>>;
    readonly preview: string;
  }[],
): { readonly change: TaskChange | undefined; readonly unknown: readonly ToolCallRecord[] } {
  const approvals: NewApproval[] = [];
  const unknown: ToolCallRecord[] = [];
  for (const { record, args, preview } of lost) {
    const rule = ruleFor(call.judge, { agent: call.agent, tool: record.tool, args });
    const asks = rule !== undefined && (rule.effect === "ask" || (rule.effect === "allow" && rule.askIfUnknown));
    if (asks) approvals.push(approvalOf({ ...record, argumentsPreview: preview }, rule, "", unknownOutcomeReason));
    else unknown.push(record);
  }
  if (approvals.length === 0) return { change: undefined, unknown };
  const change = {
    awaiting: approvals.map(({ id, callId }) => ({ callId, id })),
    approvals,
    events: approvals.map((approval) => requiredEvent(approval, parts.clock)),
    state: { ...waiting, actor: "worker", reason: unknownOutcomeReason, input: "outcome_unknown" },
  };
  return { change, unknown };
}

/** What the model is told of a call that was sent and may or may not have happened. */
export function unknownOutcome(tool: string): ToolResult {
  const summary = `The call of ${tool} was sent before an interruption and its outcome is not known; it was not sent again. Look at what it should have done before you repeat it.`;
  return toolFailure("OUTCOME_UNKNOWN", summary);
}

/** The rule that decides; one that cannot be applied, such as to a value that is nested too deeply, denies. */
function ruleFor(judge: Judge, call: Parameters<Judge>[0]): Policy | undefined {
  try {
    return judge(call);
  } catch {
    return {
      ...{ name: "unreadable-arguments", priority: 0, effect: "deny", agent: "", tool: "*", conditions: [] },
      ...{ reason: "No rule could be applied to these arguments.", expiresMs: policyLimits.defaultExpiresMs },
      ...{ approverNotRequester: false, allowedCommands: [], askIfUnknown: false },
    };
  }
}

function approvalOf(
  call: Pick<Intent, "callId" | "tool" | "argumentsPreview" | "argumentsHash">,
  { expiresMs, approverNotRequester }: Policy,
  rule: string,
  reason: string,
): NewApproval {
  const { callId, tool, argumentsPreview, argumentsHash } = call;
  return { id: newId(), callId, tool, argumentsPreview, argumentsHash, rule, reason, approverNotRequester, expiresMs };
}

function requiredEvent(approval: NewApproval, clock: Clock): TaskEventBody {
  const { id: approvalId, callId, tool, argumentsPreview, rule, reason, expiresMs } = approval;
  const expiresAt = clock.now().getTime() + expiresMs;
  return { type: "approval_required", approvalId, callId, tool, argumentsPreview, rule, reason, expiresAt };
}

function deniedResult(callId: string, { name, reason }: Policy): CallResult {
  const why = reason === "" ? "" : `: ${reason}`;
  const summary = `The policy ${name} does not allow this call; it was not run${why}${/[.!?]$/.test(why) ? "" : "."}`;
  const shown = `ERROR DENIED_BY_POLICY: ${summary}`;
  return {
    ...{ callId, state: "DENIED", shown, summary, errorCode: "DENIED_BY_POLICY", retryable: false, artifacts: [] },
    ...{ resultCharacters: shown.length, shownCharacters: shown.length, spillPointer: "", durationMs: 0 },
  };
}
