import { isId, newId } from "@drover/kernel";
import { beforeAll, describe, expect, test } from "vitest";
import type { Claim, NewTask, TaskChange, TaskStore } from "../src/application/ports.ts";

const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, reasoningTokens: 1, costNanoUsd: 7 };
const allowed = { argumentsHash: "h", policyEffect: "allow", policyRule: "", allowedCommands: [] } as const;
const ttlMs = 15_000;

export function newTask(tenant: string, fields: Partial<NewTask> = {}): NewTask {
  return {
    tenant,
    id: newId(),
    mode: "REACT",
    prompt: "Find the order",
    model: "m",
    collection: "default",
    conversationId: newId(),
    workspaceId: undefined,
    traceId: "a".repeat(32),
    createdBy: "alice",
    maxRounds: 10,
    agent: "",
    agentBody: {},
    priority: 0,
    rerunOf: undefined,
    budgets: { wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 },
    conversationPolicy: "QUEUE",
    ...fields,
  };
}

/** A request for a new task, protected by an id unless that is empty. */
export function request(id = "", bodyHash = "") {
  return { method: "SubmitTask", id, bodyHash } as const;
}

/** How many a claimer takes where the test does not look at limits. */
export function claiming(limit: number) {
  return { limit, ttlMs, perTenant: 1_000, maxIdle: 1_000 };
}

/** Submits a task and claims it; the other tasks of the store are not touched. */
export async function claimed(store: TaskStore, tenant: string, owner = "w1"): Promise<Claim> {
  const task = newTask(tenant);
  await store.submit(task, request("", ""), 1_000);
  for (;;) {
    const [claim] = await store.claim(owner, claiming(1));
    if (claim === undefined) throw new Error("nothing to claim");
    if (claim.taskId === task.id) return claim;
  }
}

const started: TaskChange = { state: { to: "RUNNING", actor: "worker", reason: "", input: "claimed" }, round: 1 };
const verifying: TaskChange = { state: { to: "VERIFYING", actor: "worker", reason: "", input: "model_answered" } };
const succeeded: TaskChange = {
  state: { to: "SUCCEEDED", actor: "worker", reason: "", input: "verified" },
  answer: "42",
};

/** What every record of tasks has to do; `open` gives a store over an empty database. */
export function taskStoreContract(name: string, open: () => Promise<TaskStore>): void {
  describe(name, () => {
    let store: TaskStore;
    beforeAll(async () => {
      store = await open();
    });

    test("a submission records task, event and transition, and is found by its tenant only", async () => {
      const task = newTask("acme", { prompt: "with a NUL \u0000 and 𝄞" });
      expect(await store.submit(task, request("", ""), 1_000)).toEqual({
        outcome: "created",
        taskId: task.id,
        interrupted: [],
      });
      expect(await store.get("acme", task.id)).toMatchObject({ state: "CREATED", version: 1, lastSequence: 1 });
      expect((await store.get("acme", task.id))?.prompt).toBe("with a NUL \u2400 and 𝄞");
      expect(await store.get("other", task.id)).toBeUndefined();
      expect(await store.events("other", task.id, 0, 10)).toEqual([]);
      expect(await store.events("acme", task.id, 0, 10)).toMatchObject([
        { sequence: 1, body: { type: "status_changed", from: "UNSPECIFIED", to: "CREATED", actor: "alice" } },
      ]);
    });

    test("twenty at once with one request id make one task; another body is a conflict", async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () => store.submit(newTask("acme"), request("same", "h"), 1_000)),
      );
      expect(outcomes.filter((o) => o.outcome === "created")).toHaveLength(1);
      expect(new Set(outcomes.map((o) => "taskId" in o && o.taskId)).size).toBe(1);
      expect((await store.submit(newTask("acme"), request("same", "x"), 1_000)).outcome).toBe("conflict");
      expect((await store.submit(newTask("other"), request("same", "x"), 1_000)).outcome).toBe("created");
    });

    test("a commit that rests on other rules than the tenant's writes nothing", async () => {
      const claim = await claimed(store, "ruled");
      expect(await store.commit(claim, 1, { ...started, rules: 1 })).toEqual({ outcome: "rules_changed" });
      expect(await store.get("ruled", claim.taskId)).toMatchObject({ state: "CREATED", version: 1, lastSequence: 1 });
      expect(await store.commit(claim, 1, { ...started, rules: 0 })).toMatchObject({ outcome: "committed" });
    });

    test("a whole round is three commits, and the log says what happened", async () => {
      const claim = await claimed(store, "rounds");
      const callId = newId();
      const turn = {
        kind: "turn",
        text: "",
        model: "m",
        finishReason: "x",
        decision: "tool_calls",
        usage,
        last: false,
      };
      expect(await store.commit(claim, 1, started)).toMatchObject({ outcome: "committed", version: 2 });
      const intent = {
        callId,
        stepSeq: 2,
        ordinal: 0,
        providerCallId: "p",
        tool: "glob",
        argumentsPreview: "{}",
        ...allowed,
      };
      await store.commit(claim, 2, {
        usage,
        steps: [{ seq: 2, round: 1, body: turn as never }],
        intents: [{ ...intent, arguments: '{"pattern":"*"}' }],
        events: [{ type: "tool_call_requested", callId, tool: "glob", argumentsPreview: "{}", ordinal: 0 }],
      });
      await store.commit(claim, 3, { dispatched: [callId] });
      const result = {
        callId,
        state: "SUCCEEDED" as const,
        shown: "OK: 1 file",
        summary: "1 file",
        errorCode: "",
        retryable: false,
        artifacts: ["/workspace/a"],
        resultCharacters: 10,
        shownCharacters: 10,
        spillPointer: "",
        durationMs: 3,
      };
      const results: TaskChange = {
        results: [result],
        steps: [{ seq: 3, round: 1, body: { kind: "results", turn: 2 } }],
        events: [],
      };
      await store.commit(claim, 4, results);
      await expect(store.commit(claim, 5, { results: [result] })).rejects.toThrow(/one result/);
      await expect(store.commit(claim, 5, { dispatched: [callId] })).rejects.toThrow(/without a result/);
      const loaded = await store.load(claim);
      expect(loaded?.task).toMatchObject({ round: 1, version: 5, lastSequence: 3, usage, state: "RUNNING" });
      expect(loaded?.log.steps.map((s) => s.body)).toEqual([
        { kind: "prompt", text: "Find the order" },
        turn,
        { kind: "results", turn: 2 },
      ]);
      expect(loaded?.log.calls).toMatchObject([{ callId, state: "SUCCEEDED", arguments: '{"pattern":"*"}' }]);
      expect(await store.commit(claim, 5, verifying)).toMatchObject({ outcome: "committed" });
      expect(await store.commit(claim, 6, succeeded)).toMatchObject({ outcome: "committed", lastSequence: 6 });
      const events = await store.events("rounds", claim.taskId, 0, 100);
      expect(events.map((e) => e.sequence)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(events.at(-1)?.body).toMatchObject({ type: "task_completed", state: "SUCCEEDED", answer: "42", usage });
    });

    test("a write with an old epoch, a wrong version or after the end changes nothing", async () => {
      const claim = await claimed(store, "fence");
      expect(await store.commit({ ...claim, epoch: claim.epoch - 1 }, 1, started)).toEqual({ outcome: "fenced" });
      expect(await store.commit(claim, 2, started)).toEqual({ outcome: "fenced" });
      expect(await store.commit({ ...claim, tenant: "other" }, 1, started)).toEqual({ outcome: "fenced" });
      const failed = { state: { to: "FAILED", actor: "w", reason: "r", input: "x" }, failureReason: "X" } as const;
      expect(await store.commit(claim, 1, failed)).toMatchObject({ outcome: "committed" });
      expect(await store.commit(claim, 2, started)).toEqual({ outcome: "fenced" });
      expect(await store.renew(claim, ttlMs)).toBeUndefined();
      expect((await store.get("fence", claim.taskId))?.state).toBe("FAILED");
    });

    test("an illegal transition is refused by the database itself", async () => {
      const claim = await claimed(store, "illegal");
      await expect(store.commit(claim, 1, succeeded)).rejects.toThrow(/cannot go from CREATED to SUCCEEDED/);
      expect((await store.get("illegal", claim.taskId))?.version).toBe(1);
    });

    test("released, a task is claimed again with a higher epoch, and the giver is fenced", async () => {
      const claim = await claimed(store, "release");
      await store.release(claim, 0);
      expect(await store.commit(claim, 1, started)).toEqual({ outcome: "fenced" });
      expect(await store.renew(claim, ttlMs)).toBeUndefined();
      const again = (await store.claim("w2", claiming(50))).find((c) => c.taskId === claim.taskId);
      expect(again?.epoch).toBeGreaterThan(claim.epoch);
      expect(again && isId(again.taskId)).toBe(true);
    });

    test("a lease that ran out is claimable, and a process of the same name gets its own back at once", async () => {
      const claim = await claimed(store, "expiry", "name-1");
      expect((await store.claim("w2", claiming(50))).filter((c) => c.taskId === claim.taskId)).toEqual([]);
      expect(await store.reclaim("name-1")).toBe(1);
      expect((await store.claim("name-1", claiming(50))).map((c) => c.taskId)).toContain(claim.taskId);
      const short = await claimed(store, "expiry-2");
      expect(await store.renew(short, 1)).toMatchObject({ cancelRequested: false });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect((await store.claim("w2", claiming(50))).map((c) => c.taskId)).toContain(short.taskId);
    });

    test("cancel: unclaimed ends at once, claimed is asked, ended stays, unknown is not found", async () => {
      const task = newTask("cancel");
      await store.submit(task, request("", ""), 1_000);
      expect(await store.cancel("other", task.id, { actor: "bob", reason: "", expectedVersion: 0 })).toMatchObject({
        outcome: "not_found",
      });
      expect(await store.cancel("cancel", task.id, { actor: "bob", reason: "no need", expectedVersion: 0 })).toEqual({
        outcome: "cancelled",
        lastSequence: 3,
      });
      expect(await store.cancel("cancel", task.id, { actor: "bob", reason: "", expectedVersion: 0 })).toEqual({
        outcome: "ended",
        lastSequence: 3,
      });
      const events = await store.events("cancel", task.id, 1, 10);
      expect(events.map((e) => e.body)).toMatchObject([
        { type: "status_changed", from: "CREATED", to: "CANCELLED", actor: "bob", reason: "no need" },
        { type: "task_completed", state: "CANCELLED", failureMessage: "Cancelled by bob in round 0: no need" },
      ]);
      const claim = await claimed(store, "cancel");
      await store.commit(claim, 1, started);
      expect(
        await store.cancel("cancel", claim.taskId, { actor: "carol", reason: "late", expectedVersion: 0 }),
      ).toMatchObject({ outcome: "requested" });
      expect(
        await store.cancel("cancel", claim.taskId, { actor: "dave", reason: "", expectedVersion: 0 }),
      ).toMatchObject({ outcome: "requested" });
      expect(await store.renew(claim, ttlMs)).toMatchObject({ cancelRequested: true });
      expect(await store.commit(claim, 2, verifying)).toMatchObject({ outcome: "committed", cancelRequested: true });
      expect(await store.commit(claim, 3, succeeded)).toEqual({ outcome: "cancelled" });
      const cancelled = { state: { to: "CANCELLED", actor: "", reason: "", input: "" } } as const;
      expect(await store.commit(claim, 3, cancelled)).toMatchObject({ outcome: "committed" });
      expect(await store.get("cancel", claim.taskId)).toMatchObject({
        state: "CANCELLED",
        failureMessage: "Cancelled by carol in round 1: late",
      });
    });

    test("lists are newest first, by state and in pages", async () => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) {
        const task = newTask("lists");
        await store.submit(task, request("", ""), 1_000);
        ids.unshift(task.id);
      }
      await store.cancel("lists", ids[0] ?? "", { actor: "bob", reason: "", expectedVersion: 0 });
      expect((await store.list("lists", [], 2, undefined)).map((t) => t.id)).toEqual(ids.slice(0, 2));
      expect((await store.list("lists", [], 9, ids[1])).map((t) => t.id)).toEqual(ids.slice(2));
      expect((await store.list("lists", ["CANCELLED"], 9, undefined)).map((t) => t.id)).toEqual(ids.slice(0, 1));
      expect(await store.list("nobody", [], 9, undefined)).toEqual([]);
    });
  });
}
