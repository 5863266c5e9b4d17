import { type Clock, mapBounded } from "@drover/kernel";
import { attr, type Span, type Tracer } from "@drover/tracing";
import { agentOf } from "../domain/agent.ts";
import { callsLeft } from "../domain/budget.ts";
import type { NextAction } from "../domain/next-action.ts";
import type { ToolCallRecord } from "../domain/step.ts";
import { isOpenCall } from "../domain/tool-call-state.ts";
import { loadedBy } from "../domain/tool-pins.ts";
import { type ToolResult, toolFailure, type ViewLimits } from "../domain/tool-result.ts";
import { completedEvent } from "./end-task.ts";
import { executeTool } from "./execute-tool.ts";
import { findToolsName } from "./find-tools.ts";
import { unknownOutcome } from "./gate-calls.ts";
import { type LostCall, settleLost } from "./lost-calls.ts";
import { throughTool } from "./middleware.ts";
import type { Middleware } from "./middleware-ports.ts";
import { refusalOf } from "./offered-tools.ts";
import type { CallResult, ConversationMemory, Workspaces } from "./ports.ts";
import type { RuleParts } from "./read-rules.ts";
import { recordableResult } from "./recordable-result.ts";
import type { TaskSession } from "./task-session.ts";
import type { Tool, ToolBox } from "./tool-ports.ts";

/** What running calls needs. */
export interface CallParts extends RuleParts {
  readonly memory: ConversationMemory;
  readonly workspaces: Workspaces;
  readonly tracer: Tracer;
  readonly tools: ToolBox;
  readonly middleware?: readonly Middleware[];
  readonly clock: Clock;
  readonly view: ViewLimits;
  /** Patience with the memory service for storing long results, ms. */
  readonly patienceMs: number;
  /** Patience with the services that tools call, ms. */
  readonly toolPatienceMs: number;
  /** Calls of one turn that run at the same time. */
  readonly parallel: number;
  /** Calls of one turn that are run at all. */
  readonly maxCalls: number;
}

type Resolved = ReturnType<ToolBox["resolve"]>;

/**
 * Runs the open calls of a turn: DISPATCHED is committed before the first of them starts, the results
 * are committed together and in call order, whatever order they came in. What an earlier worker sent is sent again
 * under the same call id where its tool bears that; otherwise see {@link settleLost}.
 */
export async function runCalls(
  parts: CallParts,
  session: TaskSession,
  action: NextAction & { readonly kind: "run_calls" },
): Promise<void> {
  const open = action.calls.filter((call) => isOpenCall(call.state));
  const round = session.roundSpan(session.task.round);
  for (const { tool, state } of open) {
    if (state === "APPROVED") round.event("approval", { text: `${tool} was approved.` });
  }
  const workspace = workspaceOf(parts, session, round);
  const resolved = new Map(resolveAll(parts, session, open));
  const lost = lostCalls(session, { round, workspace }, open, resolved);
  if (lost.length > 0) {
    round.event("note", { text: "Calls that were sent have no result: each goes by the replay rule of its tool." });
    const settled = await settleLost(parts, session, lost);
    if (settled === undefined) return;
    for (const [callId, result] of settled) resolved.set(callId, { refused: result });
  }
  const sent = open.filter((call) => "tool" in (resolved.get(call.callId) ?? {}));
  const toolCalls = sent.filter((call) => call.state !== "DISPATCHED").length;
  if (sent.length > 0) await session.commit({ dispatched: sent.map((call) => call.callId), toolCalls });
  const results = await mapBounded(open, parts.parallel, async (call) => {
    const result = await runCall(parts, session, { call, round, workspace }, resolved.get(call.callId));
    session.unrecorded.set(call.callId, result);
    return result;
  });
  session.control.signal.throwIfAborted();
  const tools = new Map(action.calls.map((call) => [call.callId, call.tool]));
  const step = {
    seq: session.lastStep + 1,
    round: session.task.round,
    body: { kind: "results", turn: action.turn, ...loadedIn(results, tools) },
  } as const;
  await session.commit({
    results,
    steps: [step],
    events: results.map((result) => completedEvent(result, tools.get(result.callId) ?? "")),
    ...(workspace.known() === undefined ? {} : { workspaceId: workspace.known() }),
  });
  session.unrecorded.clear();
  session.endRound();
}

/** The tools that were found in this turn and are on offer from the next one on. */
function loadedIn(results: readonly CallResult[], tools: ReadonlyMap<string, string>) {
  const found = results.filter(({ callId }) => tools.get(callId) === findToolsName);
  const loaded = found.flatMap(({ artifacts }) => loadedBy(artifacts));
  return loaded.length === 0 ? {} : { loaded };
}

/** The calls that were sent before and would be run now. */
function lostCalls(
  session: TaskSession,
  { round, workspace }: Omit<CallSite, "call">,
  open: readonly ToolCallRecord[],
  resolved: ReadonlyMap<string, Resolved>,
): readonly LostCall[] {
  return open.flatMap((call) => {
    const found = resolved.get(call.callId);
    if (call.state !== "DISPATCHED" || found === undefined || "refused" in found) return [];
    return [{ ...found, record: call, context: contextOf(session, { call, round, workspace }, round) }];
  });
}

/** What becomes of each call; so many as the budget of tool calls allows are run, in call order. */
function resolveAll(
  parts: CallParts,
  { task, log }: TaskSession,
  open: readonly ToolCallRecord[],
): ReadonlyMap<string, Resolved> {
  const { tools } = agentOf(task);
  const misfits = log.calls.filter(isMisfit).map(({ tool }) => tool);
  let left = callsLeft(task);
  return new Map(
    open.map((call) => {
      const refused = refusalOf(call.tool, tools);
      const resolved = refused === undefined ? fewMisfits(resolve(parts, call), call.tool, misfits) : { refused };
      // One that was sent and whose tool is gone, or another one now, may have happened.
      if (call.state === "DISPATCHED" && "refused" in resolved) {
        return [call.callId, { refused: unknownOutcome(call.tool) }];
      }
      // One that was sent before has been counted.
      if (!("tool" in resolved) || call.state === "DISPATCHED") return [call.callId, resolved];
      if (left <= 0) return [call.callId, { refused: toolFailure("BUDGET_EXHAUSTED", noCallsLeft) }];
      left -= 1;
      return [call.callId, resolved];
    }),
  );
}

/** Calls of a tool whose arguments do not fit are answered so often with what is wrong; then a model is told to stop. */
const mostMisfits = 2;

function isMisfit({ shown }: ToolCallRecord): boolean {
  return /^ERROR (?:BAD_ARGUMENTS|TOO_MANY_BAD_ARGUMENTS):/.test(shown);
}

/** The refusal in other words where the tool was called like that before too often; `misfits` gets the tool of one more. */
function fewMisfits(resolved: Resolved, tool: string, misfits: string[]): Resolved {
  if (!("refused" in resolved) || resolved.refused.errorCode !== "BAD_ARGUMENTS") return resolved;
  misfits.push(tool);
  const count = misfits.filter((name) => name === tool).length;
  if (count <= mostMisfits) return resolved;
  const summary = `${resolved.refused.summary} These are the arguments of call ${count} of ${tool} in this task that do not fit; do not try the same again: use another tool, or answer with what you have.`;
  return { refused: toolFailure("TOO_MANY_BAD_ARGUMENTS", summary) };
}

const noCallsLeft = "The task's budget of tool calls is used up; this call was not run.";

function resolve(parts: CallParts, call: ToolCallRecord): Resolved {
  if (call.ordinal < parts.maxCalls) return parts.tools.resolve(call.tool, call.arguments);
  const summary = `Only the first ${parts.maxCalls} calls of a turn are run; this one was not. Ask again in the next turn.`;
  return { refused: toolFailure("TOO_MANY_CALLS", summary) };
}

interface CallSite {
  readonly call: ToolCallRecord;
  readonly round: Span;
  readonly workspace: LazyWorkspace;
}

async function runCall(
  parts: CallParts,
  session: TaskSession,
  site: CallSite,
  resolved: Resolved | undefined,
): Promise<CallResult> {
  const { call, round } = site;
  const { task } = session;
  const span = parts.tracer.start({
    tenant: task.tenant,
    name: call.tool,
    kind: "tool",
    parent: round.context,
    taskId: task.id,
    attributes: { [attr.operation]: "execute_tool", [attr.toolName]: call.tool, [attr.toolCallId]: call.callId },
  });
  span.payload("input", call.arguments);
  span.event("tool_input", { text: call.arguments });
  const begun = parts.clock.monotonicMs();
  const result =
    resolved !== undefined && "tool" in resolved
      ? await runTool(parts, session, site, span, resolved)
      : (resolved?.refused ?? toolFailure("UNKNOWN_TOOL", "There is no such tool."));
  const durationMs = Math.round(parts.clock.monotonicMs() - begun);
  return await recordableResult(parts, session, { callId: call.callId, span, durationMs }, result);
}

function runTool(
  parts: CallParts,
  session: TaskSession,
  site: CallSite,
  span: Span,
  { tool, args }: { readonly tool: Tool; readonly args: Readonly<Record<string, unknown>> },
): Promise<ToolResult> {
  const { task, control } = session;
  const { callId, arguments: argumentsJson } = site.call;
  const patience = { totalMs: parts.toolPatienceMs, clock: parts.clock };
  const work = {
    ...{ scope: session.scope(span), agent: task.agent, signal: control.signal },
    note: (text: string) => span.event("note", { text }),
  };
  return throughTool(parts.middleware ?? [], work, { callId, tool: site.call.tool, argumentsJson }, () =>
    executeTool(tool, args, contextOf(session, site, span), control.signal, { patience }),
  );
}

function contextOf(session: TaskSession, { call, workspace }: CallSite, span: Span) {
  return {
    ...session.scope(span),
    callId: call.callId,
    conversationId: session.task.conversationId,
    collection: session.task.collection,
    allowedCommands: call.allowedCommands,
    workspace: workspace.get,
    span,
  };
}

interface LazyWorkspace {
  readonly get: (signal: AbortSignal) => Promise<string>;
  /** The workspace that was made, to be recorded. */
  readonly known: () => string | undefined;
}

/** One workspace for all calls, made by the first that asks; a failure is not remembered. */
function workspaceOf(parts: CallParts, session: TaskSession, round: Span): LazyWorkspace {
  const recorded = session.task.workspaceId;
  let made: string | undefined;
  let making: Promise<string> | undefined;
  const make = async (signal: AbortSignal) => {
    try {
      made = await parts.workspaces.create(session.scope(round), signal);
      return made;
    } finally {
      making = undefined;
    }
  };
  return {
    known: () => made,
    get: (signal) => {
      if (recorded !== undefined) return Promise.resolve(recorded);
      if (made !== undefined) return Promise.resolve(made);
      making ??= make(signal);
      return making;
    },
  };
}
