import { DroverError, newId, systemClock } from "@drover/kernel";
import { noopTracer } from "@drover/tracing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakePurges } from "../../test/fake-purges.ts";
import type { ErasingService } from "../domain/purge.ts";
import { advancePurge, type PurgeParts } from "./advance-purge.ts";
import type { PurgeTargets } from "./purge-ports.ts";

const user = { kind: "user", subject: "alice" } as const;

/** What the services keep of the subject, and how many of it one call removes. */
class FakeServices {
  readonly kept = new Map<ErasingService, Set<string>>();
  readonly down = new Set<ErasingService>();
  /** Calls that a service answers before it breaks, once. */
  readonly breaksAfter = new Map<ErasingService, number>();
  readonly calls: { readonly service: ErasingService; readonly targets: PurgeTargets; readonly more: boolean }[] = [];
  ownWhenCalled: number[] = [];

  constructor(tasks: readonly string[]) {
    for (const service of ["sandbox", "memory", "trace"] as const) this.kept.set(service, new Set(tasks));
  }

  erase(service: ErasingService, targets: PurgeTargets): { removed: number; more: boolean } {
    if (this.down.has(service)) throw new DroverError("UNAVAILABLE", `The service ${service} cannot be reached.`);
    const left = this.breaksAfter.get(service);
    if (left !== undefined) this.breaksAfter.set(service, left - 1);
    if (left === 0) {
      this.breaksAfter.delete(service);
      throw new DroverError("INTERNAL", "An internal error.");
    }
    const kept = this.kept.get(service) ?? new Set();
    const going = targets.taskIds.filter((id) => kept.has(id)).slice(0, 2);
    for (const id of going) kept.delete(id);
    const more = going.length === 2;
    this.calls.push({ service, targets, more });
    return { removed: going.length, more };
  }
}

function setUp(count = 5) {
  const targets = Array.from({ length: count }, (_, i) => ({
    ...{ task: `t${String(i).padStart(4, "0")}`, workspace: `w${i}`, trace: `r${i}` },
  }));
  const record = new FakePurges(user, targets);
  const services = new FakeServices(targets.map(({ task }) => task));
  const cancelled: string[] = [];
  const store = {
    cancel: async (_tenant: string, taskId: string, { actor }: { actor: string }) => {
      cancelled.push(`${taskId} by ${actor}`);
      return { outcome: "requested" as const, lastSequence: 1 };
    },
    get: async () => undefined,
  };
  const parts: PurgeParts = {
    purges: record.store,
    erasers: {
      erase: async (service, _claim, page) => {
        services.ownWhenCalled.push(record.own.length);
        return services.erase(service, page);
      },
    },
    // Only its cancel is asked for.
    store: store as unknown as PurgeParts["store"],
    signals: { cancelled: () => undefined, ready: () => undefined } as unknown as PurgeParts["signals"],
    ...{ tracer: noopTracer, clock: systemClock, settleMs: 15_000 },
  };
  /** One turn; false where there is nothing to do now. */
  const turn = async () => {
    const claim = await record.store.claim("a");
    if (claim === undefined) return false;
    await advancePurge(parts, claim, new AbortController().signal);
    return true;
  };
  /** Turn after turn, with the waits between them, and after a crash as well. */
  const toTheEnd = async (most = 60) => {
    for (let i = 0; i < most && !record.completed; i++) {
      await turn().catch((error: unknown) => expect(DroverError.from(error).message).toContain("killed"));
      record.wait();
    }
  };
  return { record, services, cancelled, turn, toTheEnd };
}

test("every service erases all there is, is asked again for what was on its way, and own rows go last", async () => {
  const { record, services, toTheEnd } = setUp();
  await toTheEnd();
  expect(record.completed).toBe(true);
  expect([...services.kept.values()].map((kept) => kept.size)).toEqual([0, 0, 0]);
  expect(new Set(services.ownWhenCalled)).toEqual(new Set([5]));
  const facts = [...record.parts.values()].map(({ service, removed, passes, done }) => ({
    service,
    removed,
    passes,
    done,
  }));
  expect(facts).toEqual([
    { service: "sandbox", removed: 5, passes: 2, done: true },
    { service: "memory", removed: 5, passes: 2, done: true },
    { service: "rag", removed: 0, passes: 1, done: true },
    { service: "trace", removed: 5, passes: 2, done: true },
  ]);
  expect(record.time).toBe(15_000);
  expect(services.calls[0]?.targets.traceIds).toEqual(["r0", "r1", "r2", "r3", "r4"]);
});

test("many tasks are named a page at a time", async () => {
  const { record, services, toTheEnd } = setUp(1_203);
  await toTheEnd(200);
  expect(record.completed).toBe(true);
  const sizes = services.calls.filter(({ service, more }) => service === "rag" && !more);
  expect(sizes.map(({ targets }) => targets.taskIds.length)).toEqual([500, 500, 203]);
});

test("tasks that live are cancelled in the name of who asked, and nothing is erased before their last words are in", async () => {
  const { record, services, cancelled, turn } = setUp();
  const living = newId();
  record.living.add(living);
  expect(await turn()).toBe(true);
  expect(cancelled).toEqual([`${living} by officer`]);
  expect(record.explained).toBe("One task has not ended yet.");
  expect(await turn(), "nobody is held meanwhile").toBe(false);
  record.wait();
  record.living.clear();
  record.lastEnd = record.time;
  expect(await turn()).toBe(true);
  expect(services.calls).toEqual([]);
  expect(record.nextAt - record.time).toBe(15_000);
  record.wait();
  await turn();
  expect(services.calls.length).toBeGreaterThan(3);
});

test("a service that is down holds up nothing but its own part, says so, and is tried again ever later", async () => {
  const { record, services, turn, toTheEnd } = setUp();
  services.down.add("memory");
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    const before = record.parts.get("memory")?.failures ?? 0;
    await turn();
    const part = record.parts.get("memory");
    if (part !== undefined && part.failures > before) waits.push(part.nextAt - record.time);
    record.wait();
  }
  expect(waits.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(record.parts.get("memory")?.problem).toBe("UNAVAILABLE: The service memory cannot be reached.");
  expect(record.completed).toBe(false);
  expect(record.own).toHaveLength(5);
  expect(services.kept.get("trace")?.size).toBe(0);
  services.down.clear();
  await toTheEnd();
  expect(record.completed).toBe(true);
  expect(record.parts.get("memory")).toMatchObject({ done: true, removed: 5, problem: "", failures: 0 });
});

test("a service that breaks half way goes on where it was, and nothing is counted twice", async () => {
  const { record, services, turn, toTheEnd } = setUp();
  services.breaksAfter.set("trace", 1);
  await turn();
  expect(record.parts.get("trace")).toMatchObject({ removed: 2, found: 2, problem: "INTERNAL: An internal error." });
  record.wait();
  await toTheEnd();
  expect(record.completed).toBe(true);
  expect(record.parts.get("trace")).toMatchObject({ done: true, removed: 5 });
});

test("killed at any write, even again and again, another replica ends it: all is gone and nothing is counted twice", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 4 }), async (crashes) => {
      const { record, services, toTheEnd } = setUp(3);
      for (const crash of crashes) {
        record.crashAt = record.writes + crash;
        await toTheEnd();
        if (record.completed) break;
      }
      record.crashAt = undefined;
      await toTheEnd();
      expect(record.completed).toBe(true);
      expect([...services.kept.values()].map((kept) => kept.size)).toEqual([0, 0, 0]);
      for (const { removed } of record.parts.values()) expect(removed).toBeLessThanOrEqual(3);
    }),
    { numRuns: 60 },
  );
});

test("who lost the claim writes nothing more", async () => {
  const { record, services } = setUp();
  const old = await record.store.claim("a");
  record.wait();
  await record.store.claim("b");
  const late = { ...{ tenant: "acme", id: newId(), epoch: 0, requestedBy: "officer" }, ...user, ...old };
  const parts = { purges: record.store, settleMs: 0 } as unknown as PurgeParts; // Nothing else is reached.
  const ended = await advancePurge(parts, late, new AbortController().signal).catch(
    (error: DroverError) => error.reason,
  );
  expect(ended).toBe("LEASE_LOST");
  expect(services.calls).toEqual([]);
});
