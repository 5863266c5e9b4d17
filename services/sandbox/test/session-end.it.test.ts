import { systemClock as clock, newId } from "@drover/kernel";
import { freshDatabase } from "@drover/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ChangeCollector } from "../src/application/change-collector.ts";
import { LiveRun } from "../src/application/live-run.ts";
import type { Container, SessionFace } from "../src/application/ports.ts";
import { type ChangeBook, Session } from "../src/application/session.ts";
import { type Execution, emptyResult } from "../src/domain/execution.ts";
import { defaultLimitPolicy } from "../src/domain/limits.ts";
import { outcomeOf } from "../src/domain/verdict.ts";
import { openStores, type Stores } from "../src/infrastructure/store/open-stores.ts";

/** A command's files and its end are one transaction: a command called lost has changed nothing. */
const tenant = "acme";
const space = { maxBytes: 1000, maxFiles: 10, maxFileBytes: 1000 };
const parts = new AsyncDisposableStack();
let dying: Stores;
let successor: Stores;

beforeAll(async () => {
  const database = parts.use(await freshDatabase());
  const open = async (start: string) =>
    parts.use(await openStores({ url: database.url, poolMax: 2 }, { name: "sandbox", owner: `sandbox/${start}` }, 30));
  dying = await open("first");
  successor = await open("second");
});
afterAll(() => parts.disposeAsync());

async function accepted(language: string, workspaceId: string): Promise<Execution> {
  const execution: Execution = {
    id: newId(),
    tenant,
    callId: newId(),
    taskId: "task",
    language,
    image: "none",
    runtime: "default",
    limits: defaultLimitPolicy.defaults,
    workspaceId,
    workspaceVersionBefore: 0,
    acceptedAt: new Date(),
  };
  await dying.executions.accept(execution, "body", undefined);
  return execution;
}

/** A session whose container reports one new file, and a command in it that has exited. */
async function endedCommand() {
  const workspace = await dying.workspaces.create(tenant, newId(), "", "");
  const command = await accepted("shell", workspace.id);
  const run = new LiveRun(await accepted("session", workspace.id));
  const container = {
    collect: (_limits, onChange) =>
      onChange({ kind: "put", path: "log.txt", content: Buffer.from("line"), executable: false }),
    putFile: async () => undefined,
  } as Partial<Container> as Container;
  const face = { pause: () => undefined, deleteFile: async () => undefined } as Partial<SessionFace> as SessionFace;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const collector = new ChangeCollector(dying.workspaces, dying.executions, space, clock, log);
  const session = new Session(run, container, face, { workspaces: dying.workspaces, collector, space, clock });
  const book: ChangeBook = new Map();
  session.books.add(book);
  const exited = outcomeOf({ killedBy: "", oomSeen: false, wallLimitMs: 0, exit: { code: 0 } });
  const end = () =>
    session.sync({
      id: command.id,
      book,
      endOf: (collected) => ({ ...command, endedAt: new Date(), result: { ...emptyResult(exited), ...collected } }),
    });
  return { command, run, end, session };
}

const versionOf = async ({ workspaceId }: Execution) =>
  (await successor.workspaces.read(tenant, workspaceId)).workspace.version;
const resultOf = async ({ id }: Execution) => (await successor.executions.find(tenant, { id }))?.result;

test("a service that dies right after the commit leaves an ended command, not a lost one", async () => {
  const { command, end } = await endedCommand();
  await end();
  await successor.ledger.loseOrphans();
  expect(await resultOf(command)).toMatchObject({
    outcome: { verdict: "EXITED" },
    workspaceVersionAfter: 1,
    changes: [{ path: "log.txt", kind: "ADDED" }],
  });
  expect(await versionOf(command)).toBe(1);
});

test("a command that was called lost changes nothing, and its session ends", async () => {
  const { command, run, end, session } = await endedCommand();
  await successor.ledger.loseOrphans();
  await end();
  await expect(session.sync()).rejects.toBe("daemon");
  expect(await resultOf(command)).toMatchObject({ outcome: { verdict: "INFRA_LOST" } });
  expect(await versionOf(command)).toBe(0);
  expect(run.cancelSignal.aborted).toBe(true);
});
