import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { type OrchestratorProcess, startOrchestratorProcess } from "@drover/orchestrator/test/orchestrator-process";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { actingAs, createIdentityMinter, createRpcTransport, type generateIdentityKeys } from "@drover/rpc";
import type { Environment } from "@drover/runtime";

export interface FleetOptions {
  readonly keys: Awaited<ReturnType<typeof generateIdentityKeys>>;
  readonly environment: Environment;
  /** Tasks that are kept going until {@link startFleet}'s `settle`. */
  readonly tasksAtOnce: number;
}

const as = { contextValues: actingAs({ tenant: "crash", subject: "bench", scopes: ["tasks:read", "tasks:write"] }) };

/** Two replicas with names of their own, and clients that keep submitting to whichever lives. */
export async function startFleet({ keys, environment, tasksAtOnce }: FleetOptions) {
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const replicas: (OrchestratorProcess | undefined)[] = [undefined, undefined];
  const compiled = await mkdtemp(join(tmpdir(), "drover-compiled-"));
  let submitted = 0;
  let ended = 0;
  let settling = false;

  const nameOf = (which: number) => `replica-${which}`;
  function launch(which: number): Promise<OrchestratorProcess> {
    return startOrchestratorProcess({
      ...{
        NODE_COMPILE_CACHE: compiled,
        DROVER_LISTEN: "127.0.0.1:0",
        DROVER_ADMIN_LISTEN: "127.0.0.1:0",
        DROVER_REPLICA: nameOf(which),
      },
      DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
      DROVER_IDENTITY_PRIVATE_KEY: keys.privateKey,
      ...environment,
    });
  }
  async function start(which: number): Promise<void> {
    replicas[which] = await launch(which);
  }

  /** Does something at a replica that lives, for as long as it takes. */
  async function asking<T>(work: (client: ReturnType<typeof clientOf>["client"]) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      const address = (replicas[tries % 2] ?? replicas[(tries + 1) % 2])?.address;
      if (address !== undefined) {
        await using connected = clientOf(address);
        try {
          return await work(connected.client);
        } catch (error) {
          if (tries > 200) throw error;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  function clientOf(address: string) {
    const transport = createRpcTransport({ addresses: address, audience: "orchestrator", minter });
    return {
      client: createClient(TaskService, transport),
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    };
  }

  async function keepGoing(): Promise<void> {
    while (!settling) {
      const prompt = `This is task-${++submitted}`;
      const { task } = await asking((client) => client.submitTask({ prompt, requestId: prompt, maxRounds: 50 }, as));
      const end = await asking(async (client) => {
        for await (const { message } of client.watchTask({ taskId: task?.id ?? "" }, as)) {
          if (message.case === "event" && message.value.event.case === "taskCompleted") return true;
        }
        throw new Error("The watch ended before its task.");
      });
      if (end) ended++;
    }
  }

  // One that stops in peace leaves the compiled modules to all that come after it.
  const first = await launch(0);
  first.kill("SIGTERM");
  await first.exited;
  await Promise.all([start(0), start(1)]);
  const clients = Array.from({ length: tasksAtOnce }, keepGoing);
  return {
    nameOf,
    start,
    async kill(which: number): Promise<void> {
      const replica = replicas[which];
      replicas[which] = undefined;
      replica?.kill("SIGKILL");
      await replica?.exited;
    },
    /** Submits no more and waits until every task has ended. */
    async settle(): Promise<void> {
      settling = true;
      await Promise.all(clients);
    },
    get submitted() {
      return submitted;
    },
    get ended() {
      return ended;
    },
    async [Symbol.asyncDispose]() {
      settling = true;
      await Promise.all(replicas.map((replica) => replica?.[Symbol.asyncDispose]()));
      await rm(compiled, { recursive: true, force: true });
    },
  };
}
