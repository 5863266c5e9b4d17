import { fakeClock } from "@drover/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Admission, type AdmissionLimits, type AdmissionRequest } from "./admission.ts";

const limits: AdmissionLimits = { slots: 2, memoryBytes: 100, queue: 4, queuePerTenant: 3 };
const ever = new AbortController().signal;

/** An admission whose turns are noted in order. */
function under(changed: Partial<AdmissionLimits> = {}) {
  const clock = fakeClock();
  const admission = new Admission({ ...limits, ...changed }, clock);
  const turns: string[] = [];
  const claim = (name: string, request: Partial<AdmissionRequest> = {}) => {
    const place = admission.claim({ tenant: name.slice(0, 1), memoryBytes: 10, deadlineMs: undefined, ...request });
    void place.turn(ever).then(() => turns.push(name));
    return place;
  };
  return { admission, clock, claim, turns };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("tenants take turns, and each one's runs keep their order", async () => {
  const order = under({ slots: 1, queue: 10, queuePerTenant: 10 });
  const open = new Map(["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => [name, order.claim(name)]));
  for (let i = 0; i < 6; i++) {
    await settled();
    open.get(order.turns.at(-1) ?? "")?.leave();
  }
  expect(order.turns).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("memory that is spoken for is not given again, and a large run is not passed by small ones", async () => {
  const { claim, turns } = under({ slots: 5 });
  const first = claim("a1", { memoryBytes: 60 });
  claim("b1", { memoryBytes: 50 });
  claim("c1", { memoryBytes: 10 });
  await settled();
  expect(turns).toEqual(["a1"]);
  first.leave();
  await settled();
  expect(turns).toEqual(["a1", "b1", "c1"]);
});

test("a run that is larger than the whole budget is refused for good", () => {
  const { claim } = under();
  expect(() => claim("a1", { memoryBytes: 101 })).toThrow(expect.objectContaining({ reason: "OVER_MEMORY_BUDGET" }));
});

test("a full queue refuses with a time that grows with how long runs take", async () => {
  const { claim, clock } = under({ slots: 1, queuePerTenant: 4 });
  const slow = claim("a0");
  await clock.advance(20_000);
  slow.leave();
  for (const name of ["a1", "a2", "b1", "b2", "c1"]) claim(name);
  expect(() => claim("d1")).toThrow(
    expect.objectContaining({ code: "RESOURCE_EXHAUSTED", reason: "TOO_MANY_RUNS", retryAfterMs: 24_000 }),
  );
});

test("one tenant has its share of the queue and no more", () => {
  const { claim } = under({ slots: 1 });
  for (const name of ["a1", "a2", "a3", "a4"]) claim(name);
  expect(() => claim("a5")).toThrow(expect.objectContaining({ message: expect.stringContaining("This tenant has") }));
  expect(() => claim("b1")).not.toThrow();
});

test("who gives up before its turn is refused at once; who needs not wait is not", () => {
  const { claim } = under({ slots: 1 });
  expect(() => claim("a1", { deadlineMs: 5 })).not.toThrow();
  expect(() => claim("a2", { deadlineMs: 500 })).toThrow(expect.objectContaining({ reason: "DEADLINE_TOO_SOON" }));
  expect(() => claim("a3", { deadlineMs: 5000 })).not.toThrow();
});

test("who waits for a session's memory is told when some is given back, and what has it", async () => {
  const { admission, claim } = under({ slots: 3 });
  const run = claim("a1", { memoryBytes: 60 });
  const giveBack = admission.hold(30);
  expect(admission.hold(50)).toBeUndefined();
  expect(admission.holders).toBe("1 run and 1 session have 90 bytes of the 100 bytes of memory");
  let freed = 0;
  const next = () => admission.freed().then(() => freed++);
  void next();
  await settled();
  expect(freed).toBe(0);
  run.leave();
  await settled();
  expect([freed, admission.hold(50) !== undefined]).toEqual([1, true]);
  void next();
  giveBack?.();
  await settled();
  expect([freed, admission.holders]).toEqual([2, "0 runs and 1 session have 50 bytes of the 100 bytes of memory"]);
});

test("a wait that is aborted gives its place to nobody until it leaves", async () => {
  const clock = fakeClock();
  const admission = new Admission({ ...limits, slots: 1 }, clock);
  const request = { tenant: "a", memoryBytes: 1, deadlineMs: undefined };
  const first = admission.claim(request);
  const second = admission.claim(request);
  const third = admission.claim(request);
  const abort = new AbortController();
  const waiting = second.turn(abort.signal);
  abort.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  second.leave();
  first.leave();
  await expect(third.turn(ever)).resolves.toBeUndefined();
});

test("a session holds memory and no slot, gives way to a run that waits for memory, and gives back once", async () => {
  const { admission, claim, turns } = under({ slots: 1 });
  const giveBack = admission.hold(60);
  expect(admission.hold(50)).toBeUndefined();
  let asked = 0;
  admission.onShort = () => asked++;
  claim("a1", { memoryBytes: 50 });
  expect([asked, admission.short]).toEqual([1, true]);
  expect(admission.hold(10)).toBeUndefined();
  giveBack?.();
  giveBack?.();
  await settled();
  expect(turns).toEqual(["a1"]);
  expect(admission.short).toBe(false);
  expect(admission.hold(51)).toBeUndefined();
  expect(admission.hold(50)).toBeDefined();
});

test("what was started ahead takes what is left, keeps nobody waiting, and is known to be in the way", async () => {
  const { admission, claim, turns } = under({ slots: 3 });
  const ahead = admission.holdAhead(60);
  expect(admission.holdAhead(41)).toBeUndefined();
  const second = admission.holdAhead(40);
  expect(admission.crowded).toBe(false);
  const run = claim("a1", { memoryBytes: 70 });
  const giveBack = admission.hold(30);
  await settled();
  expect([turns, giveBack === undefined, admission.crowded]).toEqual([["a1"], false, true]);
  ahead?.();
  ahead?.();
  expect(admission.crowded).toBe(true);
  second?.();
  expect(admission.crowded).toBe(false);
  claim("a2", { memoryBytes: 10 });
  run.leave();
  expect(admission.holdAhead(61)).toBeUndefined();
  expect(admission.holdAhead(60)).toBeDefined();
});

test("nothing is started ahead while a run waits for memory", () => {
  const { admission, claim } = under();
  claim("a1", { memoryBytes: 60 });
  claim("a2", { memoryBytes: 60 });
  expect(admission.holdAhead(1)).toBeUndefined();
});

test("whatever comes and leaves: never over slots or memory, and at the end everybody had a turn", async () => {
  const claims = fc.array(
    fc.record({ tenant: fc.constantFrom("a", "b", "c"), memoryBytes: fc.integer({ min: 1, max: 100 }) }),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(claims, async (requests) => {
      const admission = new Admission({ ...limits, queue: 100, queuePerTenant: 100 }, fakeClock());
      const running = new Set<(typeof requests)[number]>();
      let ended = 0;
      const all = requests.map(async (request) => {
        const place = admission.claim({ ...request, deadlineMs: undefined });
        await place.turn(ever);
        running.add(request);
        expect(running.size).toBeLessThanOrEqual(2);
        expect([...running].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)).toBeLessThanOrEqual(100);
        await settled();
        running.delete(request);
        place.leave();
        place.leave();
        ended++;
      });
      await Promise.all(all);
      expect(ended).toBe(requests.length);
    }),
    { numRuns: 50 },
  );
});
