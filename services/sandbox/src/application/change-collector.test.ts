import { type Clock, DroverError, systemClock } from "@drover/kernel";
import { expect, test } from "vitest";
import { type Execution, emptyResult } from "../domain/execution.ts";
import { defaultLimitPolicy } from "../domain/limits.ts";
import { outcomeOf } from "../domain/verdict.ts";
import { ChangeCollector, type Collected } from "./change-collector.ts";
import type { Commit, Container, ExecutionStore, Log, WorkspaceStore } from "./ports.ts";

const silent: Log = { info: () => {}, warn: () => {}, error: () => {} };
const noWait: Clock = { ...systemClock, sleep: async () => {} };
const limits = { maxBytes: 1000, maxFiles: 10, maxFileBytes: 100 };
const exited = outcomeOf({ killedBy: "", oomSeen: false, wallLimitMs: 0, exit: { code: 0 } });
const execution: Execution = {
  id: "01900000-0000-7000-8000-000000000001",
  tenant: "acme",
  callId: "01900000-0000-7000-8000-000000000002",
  taskId: "",
  language: "bash",
  image: "none",
  runtime: "default",
  limits: defaultLimitPolicy.defaults,
  workspaceId: "01900000-0000-7000-8000-000000000003",
  workspaceVersionBefore: 0,
  acceptedAt: new Date(0),
};

const container = {
  collect: async (_limits, onChange) => {
    await onChange({ kind: "put", path: "log.txt", content: Buffer.from("line"), executable: false });
  },
} as Pick<Container, "collect"> as Container;

/** A store that is away `failures` times; each failed commit was made all the same where `silently`. */
function storeThatFails(failures: number, silently: boolean) {
  const recorded: Execution[] = [];
  let left = failures;
  const away = () => new DroverError("UNAVAILABLE", "The database is not available.");
  const commit: WorkspaceStore["commit"] = async (_tenant, _id, _changes, { ends }) => {
    const repeated = recorded.length > 0;
    const workspace = { id: execution.workspaceId, version: 1, sizeBytes: 4, fileCount: 1, createdAt: new Date(0) };
    const made: Commit = { workspace, outcomes: [{ path: "log.txt", kind: "ADDED", size: 4, reason: "" }], repeated };
    const fails = left-- > 0;
    if (!repeated && (!fails || silently) && ends !== undefined) recorded.push(ends(made));
    if (fails) throw away();
    return repeated ? { ...made, outcomes: [] } : made;
  };
  const workspaces = { commit, keep: async () => "hash" } as Pick<WorkspaceStore, "commit" | "keep"> as WorkspaceStore;
  const find: ExecutionStore["find"] = async () => recorded[0];
  return { recorded, workspaces, executions: { find } as Pick<ExecutionStore, "find"> as ExecutionStore };
}

const endOf = (collected: Collected): Execution => ({
  ...execution,
  endedAt: new Date(0),
  result: { ...emptyResult(exited), ...collected },
});

test.each([
  ["is away", false],
  ["loses its answers", true],
])("a database that %s for a moment costs a run no file and commits once", async (_what, silently) => {
  const store = storeThatFails(3, silently);
  const collector = new ChangeCollector(store.workspaces, store.executions, limits, noWait, silent);
  const collected = await collector.commit(execution, container, new AbortController().signal, endOf);
  expect(collected).toMatchObject({ workspaceVersionAfter: 1, changes: [{ path: "log.txt", kind: "ADDED" }] });
  expect(store.recorded).toHaveLength(1);
});

test("a database that stays away is told in the changes", async () => {
  const store = storeThatFails(1_000, false);
  const collector = new ChangeCollector(store.workspaces, store.executions, limits, noWait, silent);
  const collected = await collector.commit(execution, container, new AbortController().signal, endOf);
  expect(collected?.workspaceVersionAfter).toBe(0);
  expect(collected?.changes[0]).toMatchObject({
    path: "log.txt",
    kind: "SKIPPED",
    reason: expect.stringContaining("database"),
  });
});
