import { newId } from "@drover/kernel";
import { freshDatabase } from "@drover/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CommitOptions } from "../src/application/ports.ts";
import { type Execution, emptyResult } from "../src/domain/execution.ts";
import { defaultLimitPolicy } from "../src/domain/limits.ts";
import { outcomeOf } from "../src/domain/verdict.ts";
import { openStores, type Stores } from "../src/infrastructure/store/open-stores.ts";

/** A run's changes and its end are one transaction: who is called lost has changed nothing. */
const tenant = "acme";
const parts = new AsyncDisposableStack();
let dying: Stores;
let successor: Stores;

beforeAll(async () => {
  const database = parts.use(await freshDatabase());
  const open = async (start: string) => {
    const options = { url: database.url, poolMax: 2 };
    return parts.use(await openStores(options, { name: "sandbox", owner: `sandbox/${start}` }, 30));
  };
  dying = await open("first");
  successor = await open("second");
});
afterAll(() => parts.disposeAsync());

async function acceptedRun(): Promise<Execution> {
  const workspace = await dying.workspaces.create(tenant, newId(), "", "");
  const execution: Execution = {
    id: newId(),
    tenant,
    callId: newId(),
    taskId: "",
    language: "bash",
    image: "none",
    runtime: "default",
    limits: defaultLimitPolicy.defaults,
    workspaceId: workspace.id,
    workspaceVersionBefore: 0,
    acceptedAt: new Date(),
  };
  await dying.executions.accept(execution, "body", undefined);
  return execution;
}

async function commitChange(execution: Execution) {
  const sha256 = await dying.workspaces.keep(tenant, Buffer.from("line"));
  const changes = [{ kind: "put", file: { path: "log.txt", sha256, size: 4, executable: false } }] as const;
  const exited = outcomeOf({ killedBy: "", oomSeen: false, wallLimitMs: 0, exit: { code: 0 } });
  const options: CommitOptions = {
    since: 0,
    exact: false,
    requestId: execution.id,
    bodyHash: execution.id,
    limits: { maxBytes: 1000, maxFiles: 10, maxFileBytes: 1000 },
    ends: ({ workspace, outcomes }) => ({
      ...execution,
      endedAt: new Date(),
      result: { ...emptyResult(exited), workspaceVersionAfter: workspace.version, changes: outcomes },
    }),
  };
  return await dying.workspaces.commit(tenant, execution.workspaceId, changes, options);
}

const versionOf = async (execution: Execution) =>
  (await successor.workspaces.read(tenant, execution.workspaceId)).workspace.version;
const verdictOf = async (execution: Execution) =>
  (await successor.executions.find(tenant, { id: execution.id }))?.result?.outcome.verdict;

test("a service that dies right after the commit leaves an ended run, not a lost one", async () => {
  const execution = await acceptedRun();
  await commitChange(execution);
  await successor.ledger.loseOrphans();
  expect(await verdictOf(execution)).toBe("EXITED");
  expect(await versionOf(execution)).toBe(1);
});

test("a container is left to the instance that ended its run, for as long as removing it takes", async () => {
  const { ledger } = successor;
  const foundOf = ({ id }: Execution) => ({
    id: `container-${id}`,
    runId: id,
    owner: "x/y",
    expiresAt: new Date(8e15),
  });
  const [ended, old, lost] = [await acceptedRun(), await acceptedRun(), await acceptedRun()];
  const exited = emptyResult(outcomeOf({ killedBy: "", oomSeen: false, wallLimitMs: 0, exit: { code: 0 } }));
  await dying.executions.finish({ ...ended, endedAt: new Date(), result: exited });
  await dying.executions.finish({ ...old, endedAt: new Date(Date.now() - 60_000), result: exited });
  expect(await ledger.loseOrphans()).toBe(1);
  const over = await ledger.over([ended, old, lost].map(foundOf));
  expect(over).toEqual(new Set([foundOf(old).id, foundOf(lost).id]));
});

test("a run that was called lost cannot change its workspace any more", async () => {
  const execution = await acceptedRun();
  expect(await successor.ledger.loseOrphans()).toBe(1);
  await expect(commitChange(execution)).rejects.toMatchObject({ code: "ABORTED", reason: "RUN_OVER" });
  expect(await verdictOf(execution)).toBe("INFRA_LOST");
  expect(await versionOf(execution)).toBe(0);
});

test("a commit whose answer was lost is told as made, once", async () => {
  const execution = await acceptedRun();
  await commitChange(execution);
  expect(await commitChange(execution)).toMatchObject({ repeated: true });
  expect(await versionOf(execution)).toBe(1);
});
