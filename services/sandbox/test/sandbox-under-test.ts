import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@connectrpc/connect";
import { type Bus, createInProcessBus } from "@drover/bus";
import { newId } from "@drover/kernel";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { type Execution, OutputStream } from "@drover/proto/sandbox/v1/exec";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import type { RunningService } from "@drover/runtime";
import { freshDatabase } from "@drover/testkit";
import Docker from "dockerode";
import { sql } from "kysely";
import { expect } from "vitest";
import { openStores } from "../src/infrastructure/store/open-stores.ts";
import { startSandbox } from "../src/wiring.ts";

/** What a test says of a run; the rest has defaults. */
export interface RunOptions {
  readonly callId?: string;
  readonly taskId?: string;
  readonly stdin?: Uint8Array;
  readonly arguments?: string[];
  readonly environment?: Record<string, string>;
  readonly files?: { path: string; content: Uint8Array; executable?: boolean }[];
  readonly limits?: {
    wallMs?: number;
    compileMs?: number;
    cpuMs?: number;
    memoryBytes?: number;
    processes?: number;
    outputBytes?: number;
  };
  readonly workspaceId?: string;
  readonly signal?: AbortSignal;
  readonly tenant?: string;
  readonly onEvent?: (kind: string, executionId: string) => void;
}

/** A run as a test looks at it: the stream put together, and the execution of its last message. */
export interface RunSeen {
  readonly execution: Execution;
  readonly existing: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly messages: number;
}

/** The running service with clients, and the containers of it. */
export interface SandboxUnderTest extends AsyncDisposable {
  readonly exec: Client<typeof ExecService>;
  readonly workspaces: Client<typeof WorkspaceService>;
  readonly erasure: Client<typeof ErasureService>;
  readonly bus: Bus;
  readonly tenant: string;
  readonly docker: Docker;
  readonly service: RunningService;
  readonly environment: Readonly<Record<string, string>>;
  as(tenant: string): { contextValues: ReturnType<typeof actingAs> };
  run(language: string, code: string, options?: RunOptions): Promise<RunSeen>;
  /** Containers of this service on the host, running or not, that a run got; `all` counts those that wait for one too. */
  containers(which?: "all"): Promise<string[]>;
  /** Another instance of the same service, with the same database and engine. */
  beside(extra?: Record<string, string>): Promise<Replica>;
  /** A client of another instance alone, of whatever process. */
  clientOf(address: string): Client<typeof ExecService>;
  /** Runs one statement on the database, as an operator could. */
  sql(statement: string): Promise<void>;
  /** Records that a run got this container. */
  bind(executionId: string, containerId: string): Promise<void>;
  /** Run labels of all containers that the service ever made, its self-test's left out. */
  runsOfMadeContainers(): Promise<string[]>;
}

/** A further instance and a client of it alone. */
export interface Replica extends AsyncDisposable {
  readonly exec: Client<typeof ExecService>;
  readonly service: RunningService;
}

const scopes = ["exec:run", "exec:read", "privacy:write"];

let runtime: Record<string, string> = {};

/** From here on services of this test file run programs on gVisor; see `on-gvisor/`. */
export function useGvisor(): void {
  runtime = { DROVER_SANDBOX_RUNTIME: "runsc", DROVER_SANDBOX_ISOLATION: "gvisor" };
}

/** Whether {@link useGvisor} was called: where the two runtimes really differ, a test says by how much and why. */
export function onGvisor(): boolean {
  return runtime.DROVER_SANDBOX_RUNTIME !== undefined;
}

/** Starts the service as its main does, on a database of its own and free ports. */
export async function startUnderTest(
  extra: Record<string, string> = {},
  maxMessageBytes = 4 << 20,
): Promise<SandboxUnderTest> {
  await using stack = new AsyncDisposableStack();
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  const database = stack.use(await freshDatabase({ service: "sandbox", directory }));
  const keys = await generateIdentityKeys();
  const bus = stack.use(createInProcessBus());
  const environment = {
    DATABASE_URL: database.url,
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_LOG_LEVEL: "warn",
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
    DROVER_SHUTDOWN_GRACE_MS: "4000",
    DROVER_MAX_MESSAGE_BYTES: `${maxMessageBytes}`,
    DROVER_SANDBOX_REAP_MS: "1000",
    DROVER_SANDBOX_POOL_MAX: "2",
    DROVER_SANDBOX_INSTANCE: `test-${randomUUID()}`,
    ...runtime,
    ...extra,
  };
  const since = Math.floor(Date.now() / 1000);
  const service = stack.use(await startSandbox(environment, { bus }));
  const observer = { name: "observer", owner: "observer/1" };
  const { database: records } = stack.use(await openStores({ url: database.url, poolMax: 1 }, observer, 1));
  const minter = await createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const transport = stack.use(
    createRpcTransport({ addresses: service.address, audience: "sandbox", minter, limits: { maxMessageBytes } }),
  );
  const exec = createClient(ExecService, transport);
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  const docker = new Docker();
  const as = (name: string) => ({ contextValues: actingAs({ tenant: name, subject: "tester", scopes }) });
  const parts = stack.move();
  /** Those that were started ahead and given to no run. */
  const waiting = async (ids: string[]) => {
    const given = await records.withSystem("strays", async (tx) => {
      const rows = tx.selectFrom("execution").select("container_id").where("container_id", "in", ids);
      return new Set((await rows.execute()).map(({ container_id }) => container_id));
    });
    return new Set(ids.filter((id) => !given.has(id)));
  };
  return {
    exec,
    workspaces: createClient(WorkspaceService, transport),
    erasure: createClient(ErasureService, transport),
    bus,
    tenant,
    docker,
    service,
    environment,
    as,
    async run(language, code, options = {}) {
      const seen = await collectRun(exec, { language, code, ...options }, as(options.tenant ?? tenant));
      if (onGvisor()) expect(seen.execution.runtime).toBe("runsc");
      return seen;
    },
    async containers(which) {
      const label = [`drover.service=sandbox`];
      const found = await docker.listContainers({ all: true, filters: { label } });
      const own = found.filter(({ Labels }) => Labels["drover.owner"]?.startsWith(environment.DROVER_SANDBOX_INSTANCE));
      const ids = own.map(({ Id }) => Id);
      const ahead = own.filter(({ Labels }) => Labels["drover.run"]?.startsWith("warm-")).map(({ Id }) => Id);
      if (which === "all" || ahead.length === 0 || parts.disposed) return ids;
      const unused = await waiting(ahead);
      return ids.filter((id) => !unused.has(id));
    },
    async beside(more = {}) {
      await using own = new AsyncDisposableStack();
      const instance = {
        DROVER_SANDBOX_INSTANCE: `${environment.DROVER_SANDBOX_INSTANCE}-${randomUUID().slice(0, 8)}`,
      };
      const beside = own.use(await startSandbox({ ...environment, ...instance, ...more }, { bus }));
      const link = { addresses: beside.address, audience: "sandbox", minter, limits: { maxMessageBytes } };
      const client = createClient(ExecService, own.use(createRpcTransport(link)));
      const moved = own.move();
      return { exec: client, service: beside, [Symbol.asyncDispose]: () => moved.disposeAsync() };
    },
    clientOf(address) {
      const link = { addresses: address, audience: "sandbox", minter, limits: { maxMessageBytes } };
      return createClient(ExecService, parts.use(createRpcTransport(link)));
    },
    async sql(statement) {
      await records.withSystem("strays", async (tx) => {
        await sql.raw(statement).execute(tx);
      });
    },
    async bind(executionId, containerId) {
      await records.withSystem("strays", async (tx) => {
        await tx.updateTable("execution").set({ container_id: containerId }).where("id", "=", executionId).execute();
      });
    },
    async runsOfMadeContainers() {
      const filters = { event: ["create"], label: ["drover.service=sandbox"] };
      const until = Math.ceil(Date.now() / 1000);
      const events = await docker.getEvents({ since, until, filters: JSON.stringify(filters) });
      const labels = (await text(events)).split("\n").flatMap((line) => (line === "" ? [] : [labelsOf(line)]));
      return labels
        .filter((found) => found["drover.owner"]?.startsWith(environment.DROVER_SANDBOX_INSTANCE))
        .filter((found) => found["drover.tenant"] !== "" || found["drover.run"]?.startsWith("warm-"))
        .map((found) => found["drover.run"] ?? "");
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

function labelsOf(event: string): Record<string, string | undefined> {
  return JSON.parse(event).Actor.Attributes;
}

async function collectRun(
  exec: Client<typeof ExecService>,
  options: RunOptions & { language: string; code: string },
  call: { contextValues: ReturnType<typeof actingAs> },
): Promise<RunSeen> {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let accepted = { existing: false, executionId: "" };
  let messages = 0;
  let execution: Execution | undefined;
  const { signal, onEvent } = options;
  const request = requestOf(options);
  for await (const { sequence, event } of exec.run(request, { ...call, ...(signal === undefined ? {} : { signal }) })) {
    if (sequence !== BigInt(++messages)) throw new Error(`Message ${messages} carries sequence ${sequence}.`);
    if (event.case === "accepted") accepted = event.value;
    if (event.case === "data")
      addData(event.value.stream === OutputStream.STDOUT ? output.stdout : output.stderr, event.value);
    if (event.case === "ended") execution = event.value.execution;
    onEvent?.(event.case ?? "", accepted.executionId);
  }
  if (execution === undefined) throw new Error("The stream ended without `ended`.");
  const [stdout, stderr] = [Buffer.concat(output.stdout), Buffer.concat(output.stderr)];
  return { execution, existing: accepted.existing, stdout, stderr, messages };
}

function addData(parts: Buffer[], { offset, data }: { offset: bigint; data: Uint8Array }): void {
  const expected = parts.reduce((sum, part) => sum + part.length, 0);
  if (offset !== BigInt(expected)) throw new Error(`Data at ${offset}, expected ${expected}.`);
  parts.push(Buffer.from(data));
}

function requestOf(options: RunOptions & { language: string; code: string }) {
  const {
    limits = {},
    signal: _signal,
    onEvent: _onEvent,
    tenant: _tenant,
    files = [],
    callId = newId(),
    ...rest
  } = options;
  return {
    ...rest,
    callId,
    files: files.map((file) => ({ executable: false, ...file })),
    limits: {
      wallTime: durationOf(limits.wallMs),
      compileTime: durationOf(limits.compileMs),
      cpuTime: durationOf(limits.cpuMs),
      memoryBytes: BigInt(limits.memoryBytes ?? 0),
      processes: limits.processes ?? 0,
      outputBytes: BigInt(limits.outputBytes ?? 0),
    },
  };
}

function durationOf(ms = 0) {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (((ms % 1000) + 1000) % 1000) * 1e6 };
}
