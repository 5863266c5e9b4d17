import { DroverError } from "@drover/kernel";
import { type FakeClock, fakeClock } from "@drover/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ForeignTool } from "../domain/foreign-tools.ts";
import type { ToolServer } from "../domain/tool-server.ts";
import { type RunningToolCatalog, startToolCatalog } from "./tool-catalog.ts";
import type { Tool, ToolBox, ToolContext } from "./tool-ports.ts";
import type { SourceResult, ToolSource } from "./tool-source-ports.ts";

const row = (name: string, fields: Partial<ToolServer> = {}): ToolServer => ({
  ...{ name, kind: "grpc", address: `${name}:1`, headers: [], tools: [], replay: [], points: [] },
  ...{ timeoutMs: 1_000, enabled: true, failOpen: false, ...fields },
});
const foreign = (name: string, description = ""): ForeignTool => ({
  name,
  description,
  inputSchema: { type: "object" },
});
const boxOf = (tools: readonly Tool[]): ToolBox => ({
  specs: tools.map(({ spec }) => spec),
  polling: new Set(),
  resolve: (name) => ({ tool: tools.find(({ spec }) => spec.name === name) as Tool, args: {} }),
});
const local = boxOf([{ spec: { name: "taken__t", description: "", parameters: {} } } as Tool]);

/** The sources that were opened, by server and generation, as the test steers them. */
class FakeSource implements ToolSource {
  readonly address: string;
  closed = false;
  tools: readonly ForeignTool[] | Error = [foreign("t")];
  lists = 0;
  changed: () => void = () => undefined;
  readonly calls: { readonly end: (result: SourceResult) => void; readonly signal: AbortSignal }[] = [];

  constructor(address: string) {
    this.address = address;
  }
  async list() {
    this.lists += 1;
    if (this.tools instanceof Error) throw this.tools;
    return this.tools;
  }
  call(_name: string, _args: unknown, { signal }: { readonly signal: AbortSignal }) {
    return new Promise<SourceResult>((end, reject) => {
      this.calls.push({ end, signal });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }
  onChanged(listener: () => void) {
    this.changed = listener;
    return { [Symbol.dispose]: () => undefined };
  }
  async [Symbol.asyncDispose]() {
    this.closed = true;
  }
}

let clock: FakeClock;
let catalog: RunningToolCatalog;
let rows: readonly ToolServer[];
let version: number;
let away: boolean;
let opened: FakeSource[];
let collisions: unknown[];
let heard: (tenant: string) => void;

beforeEach(() => {
  clock = fakeClock();
  [rows, version, away, opened, collisions] = [[], 0, false, [], []];
  catalog = startToolCatalog({
    ...{ clock, local, boxOf, pollMs: 5_000, listMs: 50, listTtlMs: 30_000, drainMs: 60_000, idleMs: 600_000 },
    store: {
      read: async (_tenant, known) => {
        if (away) throw new DroverError("UNAVAILABLE", "The database is away.");
        return { version, servers: known === version ? undefined : rows };
      },
    },
    signals: {
      onChanged: (listener) => {
        heard = listener;
        return { [Symbol.asyncDispose]: async () => undefined };
      },
    },
    opener: {
      source: (_tenant, { address }) => {
        const source = new FakeSource(address);
        opened.push(source);
        return source;
      },
      hook: () => {
        throw new Error("no hook here");
      },
    },
    onFault: () => undefined,
    onCollision: (collision) => collisions.push(collision),
  });
});
afterEach(() => catalog[Symbol.asyncDispose]());

async function put(...servers: ToolServer[]): Promise<void> {
  rows = servers;
  version += 1;
  heard("acme");
  await catalog.status("acme");
}

async function names(): Promise<readonly string[]> {
  using lease = await catalog.lease("acme");
  return lease.foreign.specs.map(({ name }) => name);
}

const context = { callId: "c", span: { event: () => undefined } } as unknown as ToolContext;
const done: SourceResult = { outcome: "known", isError: false, content: [{ kind: "text", text: "done" }] };

test("a server that is put is offered, one that is removed is not, without a word from anybody", async () => {
  expect(await names()).toEqual([]);
  await put(row("b"), row("a"));
  expect(await names()).toEqual(["a__t", "b__t"]);
  await put(row("b", { enabled: false }));
  expect(await names()).toEqual([]);
  expect(opened.map(({ closed }) => closed)).toEqual([true, true]);
});

test("a lost signal is made good by polling", async () => {
  expect(await names()).toEqual([]);
  rows = [row("a")];
  version += 1;
  await clock.advance(5_000);
  expect(await names()).toEqual(["a__t"]);
});

test("a row that says the same in another order restarts nothing; one that says something else is a new generation", async () => {
  const headers = [
    { name: "A", value: "1", secret: "" },
    { name: "B", value: "2", secret: "" },
  ];
  await put(row("a", { headers }));
  await put(row("a", { headers: headers.toReversed() }));
  expect(opened).toHaveLength(1);
  await put(row("a", { address: "other:1" }));
  expect(opened.map(({ address, closed }) => [address, closed])).toEqual([
    ["a:1", true],
    ["other:1", false],
  ]);
  expect((await catalog.status("acme")).plugs).toMatchObject([{ generation: 2, state: "ready" }]);
});

test("what a round holds stays whole: calls of a removed server finish, then it is closed", async () => {
  await put(row("a"));
  const lease = await catalog.lease("acme");
  const { tool } = lease.foreign.resolve("a__t", "{}") as { tool: Tool };
  const running = tool.execute({}, context, AbortSignal.timeout(60_000));
  await put();
  expect(await names()).toEqual([]);
  expect((await catalog.status("acme")).plugs).toMatchObject([{ name: "a", state: "draining", references: 1 }]);
  // Put again while it drains: another generation, beside it.
  await put(row("a"));
  expect(opened.map(({ closed }) => closed)).toEqual([false, false]);
  opened[0]?.calls[0]?.end(done);
  expect(await running).toMatchObject({ ok: true, summary: "done" });
  lease[Symbol.dispose]();
  expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  expect((await catalog.status("acme")).plugs).toMatchObject([{ name: "a", state: "ready", generation: 2 }]);
});

test("after the deadline a draining server is closed all the same, and its calls are cancelled", async () => {
  await put(row("a"));
  using lease = await catalog.lease("acme");
  const { tool } = lease.foreign.resolve("a__t", "{}") as { tool: Tool };
  const running = tool.execute({}, context, AbortSignal.timeout(60_000)).catch((error: DroverError) => error.code);
  await put();
  await clock.advance(60_000);
  expect(await running).toBe("UNAVAILABLE");
  expect(opened[0]?.closed).toBe(true);
});

test("a version that is held does not change; the next one has what a server now lists", async () => {
  await put(row("a"));
  using lease = await catalog.lease("acme");
  const [source] = opened;
  if (source === undefined) throw new Error("nothing was opened");
  source.tools = [foreign("t", "Something else."), foreign("u")];
  source.changed();
  await vi.waitFor(async () => expect(await names()).toEqual(["a__t", "a__u"]));
  expect(lease.foreign.specs.map(({ name }) => name)).toEqual(["a__t"]);
  using next = await catalog.lease("acme");
  expect(next.digests.get("a__t")).not.toBe(lease.digests.get("a__t"));
});

test("a list is asked for again when it is old, and one that is the same is the same version", async () => {
  await put(row("a"));
  const { digest } = await catalog.status("acme");
  await clock.advance(30_000);
  expect(opened[0]?.lists).toBe(2);
  using one = await catalog.lease("acme");
  await clock.advance(30_000);
  using two = await catalog.lease("acme");
  expect(two.foreign).toBe(one.foreign);
  expect((await catalog.status("acme")).digest).toBe(digest);
});

test("a server that fails, or hangs, is said to; what it offered before stays, and others are not kept waiting", async () => {
  await put(row("a"), row("b"));
  const [a, b] = opened;
  if (a === undefined || b === undefined) throw new Error("two should be open");
  a.tools = new DroverError("UNAVAILABLE", "It is away.");
  b.list = () => new Promise(() => undefined);
  await clock.advance(30_000);
  await vi.waitFor(async () => {
    const { plugs } = await catalog.status("acme");
    expect(plugs).toMatchObject([
      { name: "a", state: "failing", lastError: "It is away.", tools: ["a__t"] },
      { name: "b", state: "failing", lastError: expect.stringContaining("longer than 50 ms"), tools: ["b__t"] },
    ]);
  });
  expect(await names()).toEqual(["a__t", "b__t"]);
});

test("a local tool has its name first, and that another one is not offered for it is told", async () => {
  await put(row("taken"));
  expect(await names()).toEqual([]);
  expect(collisions).toEqual([{ tenant: "acme", server: "taken", tool: "taken__t" }]);
});

test("no tenant sees another one's tools", async () => {
  await put(row("a"));
  using lease = await catalog.lease("acme");
  expect(lease.foreign.specs).toHaveLength(1);
  rows = [];
  using other = await catalog.lease("other");
  expect(other.foreign.specs).toEqual([]);
});

test("while the database is away what is known is offered; what is not known fails, and is read when it is back", async () => {
  await put(row("a"));
  away = true;
  await clock.advance(5_000);
  expect(await names()).toEqual(["a__t"]);
  await expect(catalog.lease("new")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  away = false;
  using lease = await catalog.lease("new");
  expect(lease.foreign.specs).toHaveLength(1);
});

test("a tenant that nobody works for is forgotten with its connections", async () => {
  await put(row("a"));
  await clock.advance(605_000);
  expect(opened.every(({ closed }) => closed)).toBe(true);
  expect(await names()).toEqual(["a__t"]);
  expect(opened).toHaveLength(2);
});
