import { setImmediate as settle } from "node:timers/promises";
import { fakeClock } from "@drover/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { defaultLimitPolicy } from "../domain/limits.ts";
import { Admission } from "./admission.ts";
import type { Container, ContainerRequest, ExecBackend, FoundContainer } from "./ports.ts";
import { WarmPool } from "./warm-pool.ts";

const { defaults } = defaultLimitPolicy;
const image = "python:1";
const owner = "here/2";
const ever = new AbortController().signal;
const plenty = { slots: 100, memoryBytes: 100, queue: 100, queuePerTenant: 100 };

interface FakeContainer extends Container {
  alive: boolean;
}

/** A backend in memory; `hold` keeps starts from ending until it is called again with false. */
function fakeEngine() {
  const there = new Map<string, FoundContainer & { container: FakeContainer }>();
  const state = {
    id: "sha256:1",
    refuse: false,
    started: 0,
    requests: [] as ContainerRequest[],
    gone: Promise.resolve(),
  };
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const never = () => Promise.reject(new Error("not used"));
  const engine: ExecBackend = {
    name: "fake",
    runtime: "none",
    capabilities: new Set(),
    check: async () => state.id,
    async start(request, signal) {
      state.requests.push(request);
      await gate.promise;
      signal.throwIfAborted();
      if (state.refuse) throw new Error("refused");
      const id = `c${++state.started}`;
      const container = {
        id,
        root: "/workspace",
        alive: true,
        putFile: never,
        run: never,
        kill: never,
        collect: never,
        sawOutOfMemory: async () => false,
        terminate: () => undefined,
        async [Symbol.asyncDispose]() {
          await state.gone;
          there.delete(id);
        },
      };
      there.set(id, { id, runId: request.runId, owner, expiresAt: new Date(8e15), container });
      return container;
    },
    health: async () => ({ ready: true, problem: "", advice: "", version: "" }),
    found: async () => [...there.values()],
    async remove(id) {
      there.delete(id);
    },
  };
  const hold = (on: boolean) => {
    gate.resolve();
    gate = Promise.withResolvers<void>();
    if (!on) gate.resolve();
  };
  const die = () => {
    for (const { container } of there.values()) container.alive = false;
  };
  const rebuild = () => {
    state.id += "+";
  };
  const refuse = (on: boolean) => {
    state.refuse = on;
  };
  return { engine, there, state, hold, die, rebuild, refuse };
}

function poolOf(
  fake: ReturnType<typeof fakeEngine>,
  size = { min: 1, max: 4 },
  admission = new Admission(plenty, fakeClock()),
) {
  const clock = fakeClock();
  const asked: string[] = [];
  const pool = new WarmPool({
    engine: fake.engine,
    owner,
    clock,
    sizes: new Map([[image, size]]),
    times: { idleMs: 60_000, maxAgeMs: 600_000 },
    defaults,
    memory: {
      hold: () => admission.holdAhead(1),
      get crowded() {
        return admission.crowded;
      },
    },
    lifetimeMs: 200_000,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    metrics: { asked: (answer) => void asked.push(answer), watch: () => undefined },
  });
  return { pool, clock, asked };
}

const request = (changed: Partial<ContainerRequest> = {}): ContainerRequest => ({
  runId: "run-1",
  taskId: "",
  tenant: "t",
  image,
  limits: defaults,
  lifetimeMs: 150_000,
  ...changed,
});

async function quiet(): Promise<void> {
  for (let i = 0; i < 20; i++) await settle();
}

test("the minimum is ready before anybody asks, and what is given away is replaced", async () => {
  const fake = fakeEngine();
  const { pool, asked } = poolOf(fake);
  await quiet();
  expect(pool.ready).toBe(1);
  const container = await pool.start(request(), ever);
  expect(container.id).toBe("c1");
  await quiet();
  expect({ ready: pool.ready, asked }).toEqual({ ready: 1, asked: ["hit"] });
  await pool[Symbol.asyncDispose]();
  expect([...fake.there.keys()]).toEqual(["c1"]);
});

test("no container is ever given away twice, and none is left, whatever happens in what order", async () => {
  const step = fc.constantFrom("take", "take", "take", "die", "rebuild", "wait", "refuse", "allow", "hold", "go");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const fake = fakeEngine();
      const { pool, clock } = poolOf(fake);
      const given: Promise<Container | undefined>[] = [];
      const acts: Readonly<Record<string, () => unknown>> = {
        take: () => given.push(pool.start(request({ runId: `r${given.length}` }), ever).catch(() => undefined)),
        die: () => fake.die(),
        rebuild: () => fake.rebuild(),
        wait: () => clock.advance(2000),
        refuse: () => fake.refuse(true),
        allow: () => fake.refuse(false),
        hold: () => fake.hold(true),
        go: () => fake.hold(false),
      };
      for (const what of steps) {
        await acts[what]?.();
        await settle();
      }
      fake.hold(false);
      const containers = (await Promise.all(given)).filter((container) => container !== undefined);
      expect(new Set(containers.map(({ id }) => id)).size).toBe(containers.length);
      await pool[Symbol.asyncDispose]();
      const mine = new Set(containers.map(({ id }) => id));
      expect([...fake.there.keys()].filter((id) => !mine.has(id))).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

test.each([
  ["other memory", { limits: { ...defaults, memoryBytes: 64 * 1024 ** 2 } }, "bypass"],
  ["another image", { image: "other:1" }, "bypass"],
  ["a longer life", { lifetimeMs: 300_000 }, "bypass"],
  ["another time limit and other kept output", { limits: { ...defaults, wallMs: 5, outputBytes: 7 } }, "hit"],
])("%s", async (_name, changed, answer) => {
  const fake = fakeEngine();
  const { pool, asked } = poolOf(fake);
  await quiet();
  await pool.start(request(changed), ever);
  expect(asked).toEqual([answer]);
  await pool[Symbol.asyncDispose]();
});

test("a container that died while it waited is not given away", async () => {
  const fake = fakeEngine();
  const { pool } = poolOf(fake);
  await quiet();
  fake.die();
  expect((await pool.start(request(), ever)).alive).toBe(true);
  await quiet();
  expect(fake.there.has("c1")).toBe(false);
  await pool[Symbol.asyncDispose]();
});

test("an image that was built anew replaces all that waits", async () => {
  const fake = fakeEngine();
  const { pool, clock } = poolOf(fake);
  await quiet();
  fake.rebuild();
  await clock.advance(2000);
  await quiet();
  expect([...fake.there.keys()]).toEqual(["c2"]);
  await pool[Symbol.asyncDispose]();
});

test("what the pool is removing is not found, so that nobody else removes it", async () => {
  const fake = fakeEngine();
  const { pool, clock } = poolOf(fake);
  await quiet();
  const removal = Promise.withResolvers<void>();
  fake.state.gone = removal.promise;
  fake.rebuild();
  await clock.advance(2000);
  await quiet();
  expect([[...fake.there.keys()], await pool.found(ever)]).toEqual([["c1", "c2"], []]);
  removal.resolve();
  await quiet();
  expect([...fake.there.keys()]).toEqual(["c2"]);
  await pool[Symbol.asyncDispose]();
});

test("a run that comes while a container is being started gets that one", async () => {
  const fake = fakeEngine();
  fake.hold(true);
  const { pool, asked } = poolOf(fake);
  await quiet();
  const taking = pool.start(request(), ever);
  await quiet();
  fake.hold(false);
  expect((await taking).id).toBe("c1");
  expect(asked).toEqual(["hit"]);
  await pool[Symbol.asyncDispose]();
});

test("demand makes it grow to the maximum, and without demand it shrinks to the minimum", async () => {
  const fake = fakeEngine();
  const { pool, clock } = poolOf(fake);
  await quiet();
  await Promise.all(Array.from({ length: 9 }, (_, i) => pool.start(request({ runId: `r${i}` }), ever)));
  await quiet();
  expect(pool.ready).toBe(4);
  await clock.advance(62_000);
  await quiet();
  expect(pool.ready).toBe(1);
  await pool[Symbol.asyncDispose]();
});

test("an engine that refuses does not end the pool, and it fills up when the engine is back", async () => {
  const fake = fakeEngine();
  fake.refuse(true);
  const { pool, clock } = poolOf(fake);
  await quiet();
  await expect(pool.start(request(), ever)).rejects.toThrow("refused");
  fake.refuse(false);
  await clock.advance(4000);
  await quiet();
  expect(pool.ready).toBeGreaterThan(0);
  await pool[Symbol.asyncDispose]();
});

test("a container is found under the run that got it; what waits is not found; what a dead process left is expired", async () => {
  const fake = fakeEngine();
  const { pool, clock } = poolOf(fake);
  await quiet();
  const { id } = await pool.start(request(), ever);
  await quiet();
  const [any] = fake.there.values();
  if (any === undefined) throw new Error("nothing is there");
  fake.there.set("old", { ...any, id: "old", runId: "warm-0", owner: "here/1" });
  fake.there.set("far", { ...any, id: "far", runId: "warm-1", owner: "there/1" });
  fake.there.set("ended", { ...any, id: "ended", runId: "warm-2", owner: "there/1", exited: true });
  const look = async () =>
    (await pool.found(ever)).map(({ id: found, runId, expiresAt }) => [found, runId, expiresAt.getTime()]);
  const expected = [
    [id, "run-1", 8e15],
    ["old", "warm-0", 0],
    ["far", "warm-1", 8e15],
  ];
  expect(await look()).toEqual([...expected, ["ended", "warm-2", 8e15]]);
  await clock.advance(6000);
  expect(await look()).toEqual([...expected, ["ended", "warm-2", 0]]);
  await pool[Symbol.asyncDispose]();
});

/** Room for three containers, of which two wait. */
async function crowdable() {
  const fake = fakeEngine();
  const admission = new Admission({ ...plenty, memoryBytes: 3 }, fakeClock());
  const made = poolOf(fake, { min: 2, max: 4 }, admission);
  await quiet();
  expect(made.pool.ready).toBe(2);
  const run = (limit = 1) => admission.claim({ tenant: "t", memoryBytes: limit, deadlineMs: undefined });
  return { fake, admission, run, ...made };
}

test("what waits is given up, and gone, before another container takes its memory; a run that gets it costs nothing", async () => {
  const { fake, admission, pool, run, asked } = await crowdable();
  const large = run(2);
  await pool.start(request({ limits: { ...defaults, memoryBytes: 2 } }), ever);
  expect([[...fake.there.keys()], pool.ready, admission.crowded]).toEqual([["c1", "c3"], 1, false]);
  run();
  expect(admission.crowded).toBe(true);
  expect((await pool.start(request(), ever)).id).toBe("c1");
  expect([asked, admission.crowded]).toEqual([["bypass", "hit"], false]);
  await quiet();
  expect([...fake.there.keys()]).toEqual(["c1", "c3"]);
  large.leave();
  await pool[Symbol.asyncDispose]();
});

test("one that is being started is given up as well, and the pool fills up when there is memory again", async () => {
  const { fake, admission, pool, clock, run } = await crowdable();
  fake.hold(true);
  await pool.start(request({ runId: "r1" }), ever);
  const large = run(3);
  const starting = pool.start(request({ image: "other:1" }), ever);
  await quiet();
  fake.hold(false);
  await starting;
  expect(admission.crowded).toBe(false);
  expect(pool.ready).toBe(0);
  large.leave();
  await clock.advance(2000);
  await quiet();
  expect(pool.ready).toBe(2);
  await pool[Symbol.asyncDispose]();
  expect([...fake.there.values()].map(({ runId }) => runId).filter((id) => !id.startsWith("warm-"))).toEqual(["run-1"]);
});
