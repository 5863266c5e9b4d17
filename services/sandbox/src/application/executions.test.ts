import { newId } from "@drover/kernel";
import { expect, test } from "vitest";
import type { Execution } from "../domain/execution.ts";
import { Executions } from "./executions.ts";
import { LiveRun } from "./live-run.ts";
import type { ExecutionStore } from "./ports.ts";

test("a run that runs here has begun, also where its record does not say so yet", async () => {
  // Of an execution and of the store nothing else is looked at.
  const recorded = { id: newId(), tenant: "acme" } as Execution;
  const store = { find: async () => recorded } as Partial<ExecutionStore> as ExecutionStore;
  const run = new LiveRun(recorded);
  const executions = new Executions(store, {
    byId: (tenant, id) => (tenant === "acme" && id === run.execution.id ? run : undefined),
  });
  expect((await executions.get("acme", { id: recorded.id })).startedAt).toBeUndefined();
  run.startedAt = new Date(7);
  expect((await executions.get("acme", { id: recorded.id })).startedAt).toEqual(new Date(7));
});
