import { DroverError, newId } from "@drover/kernel";
import type { ModelDecision, ModelEvent, ModelRequest } from "@drover/model";
import { noopTracer } from "@drover/tracing";
import type { CommitOutcome, TaskChange, TaskSignals, TaskStore } from "../src/application/ports.ts";
import { RunControl } from "../src/application/run-control.ts";
import type { RunParts } from "../src/application/run-task.ts";
import { TaskSession } from "../src/application/task-session.ts";
import type { Tool } from "../src/application/tool-ports.ts";
import type { LoggedMessage } from "../src/domain/conversation.ts";
import type { TaskLog } from "../src/domain/step.ts";
import type { Task } from "../src/domain/task.ts";
import { toolFailure } from "../src/domain/tool-result.ts";

const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0, estimated: false };
const taskId = newId();
/** The claim under which the task of a {@link FakeRecord} is worked on. */
export const claim = { tenant: "acme", taskId, epoch: 1 };

/** The record of one task in memory; `loseAt` is the commit at which the worker is lost, before or after it is written. */
export class FakeRecord {
  task: Task = {
    ...{ tenant: "acme", id: taskId, state: "CREATED", mode: "REACT", prompt: "go", model: "m", collection: "default" },
    ...{ conversationId: newId(), workspaceId: undefined, traceId: "a".repeat(32), createdBy: "alice" },
    ...{ round: 0, maxRounds: 5, version: 1, lastSequence: 1, answer: "", failureReason: "", failureMessage: "" },
    ...{ cancelRequested: false, cancelActor: "", cancelReason: "", attempt: 1, createdAt: new Date(0) },
    ...{ agent: "", agentBody: {}, priority: 0, rerunOf: undefined, resumes: 0, wallMsUsed: 0, toolCallsUsed: 0 },
    ...{ reworks: 0, verification: undefined, memoryUsage: undefined, firstSequence: 1, workspaceGiven: false },
    budgets: { wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 },
    ...{ startedAt: undefined, endedAt: undefined },
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: 0 },
  };
  log: TaskLog = { steps: [{ seq: 1, round: 0, body: { kind: "prompt", text: "go" } }], calls: [] };
  readonly changes: TaskChange[] = [];
  loseAt: { readonly commit: number; readonly written: boolean } | undefined;

  readonly store = {
    load: async () => ({ task: this.task, log: this.log }),
    commit: async (_claim: unknown, version: number, change: TaskChange): Promise<CommitOutcome> => {
      if (version !== this.task.version) return { outcome: "fenced" };
      const lost = this.loseAt?.commit === this.changes.length;
      if (!lost || this.loseAt?.written) await this.#write(change);
      if (lost) {
        this.loseAt = undefined;
        throw new DroverError("UNAVAILABLE", "The database is not available.");
      }
      return {
        outcome: "committed",
        version: this.task.version,
        lastSequence: 1,
        cancelRequested: false,
        wallMsUsed: 0,
      };
    },
  } as unknown as TaskStore;

  /** A session takes changes over exactly as the database does; its own code is what writes here. */
  async #write(change: TaskChange): Promise<void> {
    this.changes.push(change);
    const echo = {
      commit: async () => ({ outcome: "committed", version: this.task.version + 1, lastSequence: 1, wallMsUsed: 0 }),
    };
    const parts = { store: echo as unknown as TaskStore, signals: silent, tracer: noopTracer };
    const session = new TaskSession(parts, claim, new RunControl(), { task: this.task, log: this.log });
    await session.commit(change);
    this.task = session.task;
    this.log = session.log;
  }
}

const silent = { committed: () => undefined, delta: () => undefined } as unknown as TaskSignals;

/** Asks for two calls of `work` in each of two rounds, then answers with what it was shown. */
function decide({ messages }: ModelRequest): ModelDecision {
  const results = messages.filter((message) => message.role === "tool");
  if (results.length >= 4) return { kind: "final", text: results.map((message) => message.text).join(",") };
  const call = (n: number) => ({
    callId: newId(),
    providerCallId: `p${n}`,
    name: "work",
    argumentsJson: JSON.stringify({ n: results.length + n }),
  });
  return { kind: "tool_calls", text: "", toolCalls: [call(0), call(1)] };
}

/** Parts over a record, with a model that asks for the tool `work`, and a memory of their own. */
export function partsOf(record: FakeRecord, execute: Tool["execute"]): RunParts {
  const remembered: LoggedMessage[] = [];
  const remember = (messages: readonly LoggedMessage[]) => {
    const known = new Set(remembered.map((message) => message.clientMessageId));
    remembered.push(...messages.filter((message) => !known.has(message.clientMessageId)));
  };
  const tool: Tool = {
    spec: { name: "work", description: "", parameters: {} },
    timeoutMs: 1_000,
    replay: "idempotent",
    execute,
  };
  return {
    store: record.store,
    signals: silent,
    tracer: noopTracer,
    clock: { now: () => new Date(), monotonicMs: () => performance.now(), sleep: async () => undefined },
    model: {
      async *decide(request, { signal }): AsyncGenerator<ModelEvent> {
        signal.throwIfAborted();
        yield { type: "decision", decision: decide(request), usage, model: "m", finishReason: "stop" };
      },
    },
    memory: {
      append: async (_scope, _conversation, messages) => remember(messages),
      spill: async () => "spill://x",
      buildContext: async (_scope, { append }) => {
        remember(append);
        return remembered.map((message) => {
          if (message.role === "tool") return { role: "tool" as const, callId: message.toolCallId, text: message.text };
          if (message.role === "user") return { role: "user" as const, text: message.text };
          return { role: "assistant" as const, text: message.text, toolCalls: message.toolCalls };
        });
      },
    },
    workspaces: { create: async () => newId(), release: async () => undefined },
    tools: {
      specs: [tool.spec],
      polling: new Set<string>(),
      resolve: (name, args) =>
        name === "work" ? { tool, args: JSON.parse(args) } : { refused: toolFailure("UNKNOWN_TOOL", "no") },
    },
    view: { spillThreshold: 32_000, preview: 2_048, viewCap: 8_000 },
    patienceMs: 0,
    toolPatienceMs: 0,
    parallel: 4,
    maxCalls: 16,
    policies: { judgeOf: async () => () => undefined, rulesOf: async () => ({ version: 0, judge: () => undefined }) },
    maxOutputTokens: 100,
    promptTokens: (messages) => messages.length,
    checks: { rules: () => [], jsonSchema: () => [], code: async () => [] },
    onFault: () => undefined,
  };
}

/** Gives its number back. */
export const echo: Tool["execute"] = async ({ n }) => ({
  ...{ ok: true, errorCode: "", summary: String(n), text: "", artifacts: [], retryable: false },
});
