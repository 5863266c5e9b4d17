import { expect, test } from "vitest";
import { claim, echo, FakeRecord, partsOf } from "../../test/fake-record.ts";
import type { Policy } from "../domain/policy.ts";
import type { PolicyStore } from "./decision-ports.ts";
import { PolicyBook } from "./policy-book.ts";
import { RunControl } from "./run-control.ts";
import { runTask } from "./run-task.ts";

const denied: Policy = {
  ...{ name: "closed", priority: 0, effect: "deny", agent: "", tool: "*", conditions: [], reason: "", expiresMs: 1 },
  ...{ approverNotRequester: false, allowedCommands: [], askIfUnknown: false },
};

/** A book over rules that a test changes; `asked` are the versions that the record was asked about. */
function bookOf() {
  const now: { version: number; policies: Policy[] } = { version: 0, policies: [] };
  const asked: number[] = [];
  const store: Pick<PolicyStore, "read"> = {
    async read(_tenant, known) {
      asked.push(known);
      return { version: now.version, policies: known === now.version ? undefined : now.policies };
    },
  };
  const patterns = { matches: () => false, fault: () => undefined };
  return { now, asked, book: new PolicyBook(store as PolicyStore, patterns) };
}

const call = { agent: "", tool: "glob", args: {} };

test("rules are asked for once, again where their version is stale, and always where it must be those of now", async () => {
  const { now, asked, book } = bookOf();
  expect(await book.rulesOf("acme")).toMatchObject({ version: 0 });
  Object.assign(now, { version: 1, policies: [denied] });
  expect((await book.rulesOf("acme")).judge(call)).toBeUndefined();
  expect(asked).toEqual([-1]);
  const fresh = await book.rulesOf("acme", 0);
  expect([fresh.version, fresh.judge(call)?.name]).toEqual([1, "closed"]);
  expect((await book.rulesOf("acme", 0)).version).toBe(1);
  expect((await book.judgeOf("acme"))(call)?.name).toBe("closed");
  expect(asked).toEqual([-1, 0, 1]);
});

test("a turn whose rules were changed meanwhile is judged again by the new ones before it is recorded", async () => {
  const { now, asked, book } = bookOf();
  const record = new FakeRecord();
  const parts = partsOf(record, echo);
  const { commit } = parts.store;
  const refused: unknown[] = [];
  const store: typeof parts.store = {
    ...parts.store,
    async commit(held, version, change) {
      if (change.rules === undefined || change.rules === now.version) return commit(held, version, change);
      refused.push(change.intents?.map(({ policyRule }) => policyRule));
      return { outcome: "rules_changed" };
    },
  };
  await book.rulesOf("acme");
  Object.assign(now, { version: 7, policies: [denied] });
  expect(await runTask({ ...parts, store, policies: book }, claim, new RunControl())).toBe("ended");
  expect(refused).toEqual([["", ""]]);
  expect(asked).toEqual([-1, 0]);
  expect(new Set(record.log.calls.map(({ state }) => state))).toEqual(new Set(["DENIED"]));
  expect(record.changes.some(({ dispatched }) => dispatched !== undefined)).toBe(false);
});
