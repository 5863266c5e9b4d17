import { expect, test } from "vitest";
import type { Elsewhere, OwnedTask, Taken } from "../domain/session-place.ts";
import { type OwnerRows, SessionOwners, type Share } from "./session-owner.ts";

interface Row {
  owner: string;
  epoch: number;
}

/** The rows in memory, and instances over them; an instance in `dead` has let its leases run out. */
function fakeRows() {
  const rows = new Map<string, Row>();
  const dead = new Set<string>();
  const told: string[] = [];
  const lostBy: string[] = [];
  const log = {
    info: () => undefined,
    error: () => undefined,
    warn: (_: object, text: string) => void told.push(text),
  };
  const instance = (name: string) => {
    const kept = ({ tenant, taskId, epoch }: OwnedTask) => {
      const row = rows.get(`${tenant}/${taskId}`);
      return row?.owner === name && row.epoch === epoch;
    };
    const port: OwnerRows = {
      async take(tenant, taskId, create): Promise<Taken> {
        const row = rows.get(`${tenant}/${taskId}`) ?? { owner: "", epoch: 0 };
        const another = row.owner !== "" && row.owner !== name;
        if (another && !dead.has(row.owner)) return { kind: "there", address: row.owner };
        if (!create && !another) return { kind: "nobody" };
        rows.set(`${tenant}/${taskId}`, { owner: name, epoch: row.epoch + 1 });
        return { kind: "here", epoch: row.epoch + 1, from: another ? row.owner : "", lost: another ? 2 : 0 };
      },
      placeOf: async (_tenant, key): Promise<Elsewhere | { kind: "here" | "dead" }> => {
        const owner = "id" in key ? key.id : key.callId;
        if (owner === name) return { kind: "here" };
        return dead.has(owner) ? { kind: "dead" } : { kind: "there", address: owner };
      },
      has: async (task) => kept(task),
      renew: async () =>
        [...rows].flatMap(([key, { owner, epoch }]) => {
          const [tenant = "", taskId = ""] = key.split("/");
          return owner === name ? [{ tenant, taskId, epoch }] : [];
        }),
      async release(task) {
        if (kept(task)) rows.set(`${task.tenant}/${task.taskId}`, { owner: "", epoch: task.epoch });
      },
    };
    return new SessionOwners(port, async () => void lostBy.push(name), log);
  };
  return { rows, dead, told, lostBy, a: instance("a"), b: instance("b") };
}

async function taken(owners: SessionOwners): Promise<Share> {
  const share = await owners.take("acme", "task");
  if (share.kind !== "here") throw new Error(`The task is at ${share.address}.`);
  return share;
}

test("one instance has a task, until its last share is left", async () => {
  const { rows, a, b } = fakeRows();
  const [first, second] = await Promise.all([taken(a), taken(a)]);
  expect([first.epoch, second.epoch]).toEqual([1, 1]);
  expect(await b.take("acme", "task")).toEqual({ kind: "there", address: "a" });
  await first.leave();
  await first.leave();
  expect(await b.elsewhere("acme", "task")).toEqual({ kind: "there", address: "a" });
  await second.leave();
  expect(rows.get("acme/task")?.owner).toBe("");
  expect((await taken(b)).epoch).toBe(2);
  expect(await a.elsewhere("acme", "task")).toEqual({ kind: "there", address: "b" });
});

test("a task that nobody has gets no row by being asked for", async () => {
  const { rows, a } = fakeRows();
  expect(await a.elsewhere("acme", "task")).toBeUndefined();
  expect(rows.size).toBe(0);
});

test("a dead owner's task is taken with a higher epoch, and the dead one learns it at its next renewal", async () => {
  const { dead, told, a, b } = fakeRows();
  const before = await taken(a);
  await a.renew();
  expect(before.lost.aborted).toBe(false);
  dead.add("a");
  expect((await taken(b)).epoch).toBe(2);
  expect(told).toEqual(["the sessions of a dead instance were taken over"]);
  dead.clear();
  await a.renew();
  expect(before.lost.aborted).toBe(true);
  await before.leave();
  expect(await a.take("acme", "task")).toEqual({ kind: "there", address: "b" });
});

test("who asks before the next renewal learns it as well, and starts nothing", async () => {
  const { dead, a, b } = fakeRows();
  const before = await taken(a);
  dead.add("a");
  const now = await taken(b);
  dead.clear();
  expect(await a.elsewhere("acme", "task")).toEqual({ kind: "there", address: "b" });
  expect(before.lost.aborted).toBe(true);
  expect(await a.take("acme", "task")).toEqual({ kind: "there", address: "b" });
  await before.leave();
  expect(now.lost.aborted).toBe(false);
  expect(await b.elsewhere("acme", "task")).toBeUndefined();
});

test("the end of a dead owner's session takes its row and lets go of it", async () => {
  const { rows, dead, told, a, b } = fakeRows();
  await taken(a);
  dead.add("a");
  expect(await b.elsewhere("acme", "task")).toBeUndefined();
  expect(rows.get("acme/task")).toEqual({ owner: "", epoch: 2 });
  expect(told).toHaveLength(1);
});

test("an execution of a dead instance is lost before it is answered for", async () => {
  const { dead, lostBy, a } = fakeRows();
  expect(await a.runsElsewhere("acme", { id: "a" })).toBeUndefined();
  expect(await a.runsElsewhere("acme", { callId: "b" })).toEqual({ kind: "there", address: "b" });
  expect(lostBy).toEqual([]);
  dead.add("b");
  expect(await a.runsElsewhere("acme", { id: "b" })).toBeUndefined();
  expect(lostBy).toEqual(["a"]);
});

test("a row that cannot be had leaves nothing held", async () => {
  const { a } = fakeRows();
  const rows = { take: () => Promise.reject(new Error("no database")) } as Partial<OwnerRows> as OwnerRows;
  const none = { info: () => undefined, error: () => undefined, warn: () => undefined };
  const owners = new SessionOwners(rows, async () => undefined, none);
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(owners.take("acme", "task")).rejects.toThrow("no database");
  }
  await expect(taken(a)).resolves.toMatchObject({ epoch: 1 });
});
