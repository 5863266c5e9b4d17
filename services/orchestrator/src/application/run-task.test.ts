import { DroverError, newId } from "@drover/kernel";
import type { ModelDecision, ModelEvent, ModelRequest } from "@drover/model";
import { attr, noopTracer, type Span, type Tracer } from "@drover/tracing";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LoggedMessage } from "../domain/conversation.ts";
import type { Step, TaskLog } from "../domain/step.ts";
import type { Task } from "../domain/task.ts";
import { toolFailure } from "../domain/tool-result.ts";
import type { CommitOutcome, TaskChange, TaskSignals, TaskStore } from "./ports.ts";
import { RunControl } from "./run-control.ts";
import { type RunParts, runTask } from "./run-task.ts";
import { TaskSession } from "./task-session.ts";
import type { Tool } from "./tool-ports.ts";

const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0, estimated: false };
const taskId = newId();
const claim = { tenant: "acme", taskId, epoch: 1 };

/** The record of one task in memory; `loseAt` is the commit at which the worker is lost, before or after it is written. */
class FakeRecord {
  task: Task = {
    ...{ tenant: "acme", id: taskId, state: "CREATED", mode: "REACT", prompt: "go", model: "m", collection: "default" },
    ...{ conversationId: newId(), workspaceId: undefined, traceId: "a".repeat(32), createdBy: "alice" },
    ...{ round: 0, maxRounds: 5, version: 1, lastSequence: 1, answer: "", failureReason: "", failureMessage: "" },
    ...{ cancelRequested: false, cancelActor: "", cancelReason: "", attempt: 1, createdAt: new Date(0) },
    ...{ agent: "", agentBody: {}, priority: 0, rerunOf: undefined, resumes: 0, wallMsUsed: 0, toolCallsUsed: 0 },
    ...{ reworks: 0, verification: undefined, firstSequence: 1, workspaceGiven: false },
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

function partsOf(record: FakeRecord, execute: Tool["execute"]): RunParts {
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
    policies: { judgeOf: async () => () => undefined },
    maxOutputTokens: 100,
    promptTokens: (messages) => messages.length,
    checks: { rules: () => [], jsonSchema: () => [], code: async () => [] },
    onFault: () => undefined,
  };
}

const echo: Tool["execute"] = async ({ n }) => ({
  ...{ ok: true, errorCode: "", summary: String(n), text: "", artifacts: [], retryable: false },
});

test("a round is three commits: the turn with its intents, dispatched, the results in call order", async () => {
  const record = new FakeRecord();
  const slowFirst: Tool["execute"] = async (args, context, signal) => {
    if (Number(args.n) % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return echo(args, context, signal);
  };
  expect(await runTask(partsOf(record, slowFirst), claim, new RunControl())).toBe("ended");
  const parts = record.changes.map((change) =>
    Object.keys(change).filter((key) => !["events", "usage", "round", "toolCalls"].includes(key)),
  );
  const round = [["steps", "intents"], ["dispatched"], ["results", "steps"]];
  expect(parts).toEqual([
    ["state"],
    ...round,
    ...round,
    ["steps", "answer", "state"],
    ["steps", "verification", "reworks"],
    ["state"],
  ]);
  expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "OK: 0,OK: 1,OK: 2,OK: 3", round: 3 });
  expect(record.task.usage.inputTokens).toBe(9);
});

test("the trace hears of every transition when it was written", async () => {
  const record = new FakeRecord();
  const told: string[] = [];
  const tracer: Tracer = {
    ...noopTracer,
    start(start) {
      const span = noopTracer.start(start);
      const event: Span["event"] = (kind, { attributes } = {}) => {
        if (kind === "state_changed") told.push(`${attributes?.[attr.taskStateFrom]} ${attributes?.[attr.taskState]}`);
      };
      return start.kind === "task" ? { ...span, event } : span;
    },
  };
  await runTask({ ...partsOf(record, echo), tracer }, claim, new RunControl());
  expect(told).toEqual(["CREATED RUNNING", "RUNNING VERIFYING", "VERIFYING SUCCEEDED"]);
});

test("lost at any commit, written or not, the next owner ends the task with the same answer and no call changes its id", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ commit: fc.nat(10), written: fc.boolean() }), { maxLength: 4 }),
      async (losses) => {
        const record = new FakeRecord();
        const ids = new Map<unknown, Set<string>>();
        const execute: Tool["execute"] = async (args, context, signal) => {
          ids.set(args.n, (ids.get(args.n) ?? new Set()).add(context.callId));
          return echo(args, context, signal);
        };
        for (const loss of losses) {
          record.loseAt = loss;
          await runTask(partsOf(record, execute), claim, new RunControl());
        }
        record.loseAt = undefined;
        await runTask(partsOf(record, execute), claim, new RunControl());
        expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "OK: 0,OK: 1,OK: 2,OK: 3" });
        expect([...ids.values()].every((set) => set.size === 1)).toBe(true);
        expect(record.log.steps.map((step: Step) => step.seq)).toEqual(record.log.steps.map((_, i) => i + 1));
      },
    ),
    { numRuns: 60 },
  );
});

test("after a lost lease nothing is written any more", async () => {
  const record = new FakeRecord();
  const control = new RunControl();
  const execute: Tool["execute"] = async (args, context, signal) => {
    control.loseLease();
    return echo(args, context, signal);
  };
  expect(await runTask(partsOf(record, execute), claim, control)).toBe("give_back");
  expect(record.changes.at(-1)?.dispatched).toHaveLength(2);
  expect(record.task.state).toBe("RUNNING");
});

test("a cancel keeps the results that are there and gives every other call one", async () => {
  const record = new FakeRecord();
  const control = new RunControl();
  const execute: Tool["execute"] = async (args, context, signal) => {
    if (args.n === 0) return echo(args, context, signal);
    control.cancel();
    return await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      if (signal.aborted) reject(signal.reason);
    });
  };
  expect(await runTask(partsOf(record, execute), claim, control)).toBe("ended");
  expect(record.task.state).toBe("CANCELLED");
  expect(record.changes.at(-1)?.results?.map((result) => result.state)).toEqual(["SUCCEEDED", "CANCELLED"]);
  expect(record.log.calls.map((call) => call.state)).toEqual(["SUCCEEDED", "CANCELLED"]);
});

test("a drain gives the task back after the step at hand", async () => {
  const record = new FakeRecord();
  const control = new RunControl();
  const execute: Tool["execute"] = async (args, context, signal) => {
    control.drain();
    return echo(args, context, signal);
  };
  expect(await runTask(partsOf(record, execute), claim, control)).toBe("give_back");
  expect(record.changes.at(-1)?.results).toHaveLength(2);
});
