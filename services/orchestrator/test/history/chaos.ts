import { newId } from "@drover/kernel";
import { startNats, startPostgres } from "@drover/testkit";
import { startHarness } from "../harness.ts";
import { type OrchestratorProcess, startOrchestratorProcess } from "../orchestrator-process.ts";
import type { History } from "./history.ts";
import { failpoints, type InterceptPlan } from "./intercept.ts";
import { askAbout, decideUntil, loadUntil, resumeOne } from "./load.ts";
import { plannedScript } from "./planned-script.ts";
import { type Random, randomOf } from "./random.ts";
import { ownerEntries, recordedTasks } from "./read-record.ts";
import { Recorder } from "./recorder.ts";

const tenant = "chaos";
const replicas = 2;
const short = {
  DROVER_LEASE_TTL_MS: "1500",
  DROVER_CLAIM_POLL_MS: "200",
  DROVER_APPROVAL_EXPIRY_MS: "200",
  // A fault may strike many times before a task's first commit, and what is shown here is not the dead letter.
  DROVER_DEAD_LETTER_CLAIMS: "1000",
  DROVER_TENANT_RUNNING: "100",
};

/** How long the tasks have to end once no fault comes any more, ms. */
const settleMs = 60_000;

type World = Awaited<ReturnType<typeof startWorld>>;

/** What happened, in words and numbers, and the whole history for the checker. */
export interface ChaosRun {
  readonly faults: Readonly<Record<string, number>>;
  readonly history: History;
  /** Requests that a strict provider refused. */
  readonly refused: number;
}

/** Two replicas under load and under faults that follow from the seed, for so many milliseconds, and until all is quiet. */
export async function runChaos(seed: number, ms: number, folder: string): Promise<ChaosRun> {
  const random = randomOf(seed);
  await using world = await startWorld(folder, random);
  const over = performance.now() + ms;
  const faults: Record<string, number> = {};
  const load = loadUntil(world, random, over, AbortSignal.timeout(ms + 2 * settleMs));
  const quiet = new AbortController();
  const deciding = decideUntil(world.recorder, randomOf(seed + 1), quiet.signal);
  while (performance.now() < over) {
    const name = random.pick(Object.keys(strike));
    faults[name] = (faults[name] ?? 0) + 1;
    await strike[name]?.(world, random);
    await pause(random.below(1_500));
  }
  const { submitted, bystanders } = await load;
  await world.mend();
  const { effects } = world.harness.peers;
  await resumeOne(world.recorder, (program) => effects.some(({ key }) => key === program));
  const settled = AbortSignal.timeout(settleMs);
  // Also those whose submission got no answer.
  const all = new Set([...submitted, ...(await world.recorder.listed())]);
  await Promise.all([...all].map((taskId) => world.recorder.watch(taskId, settled)));
  await bystanders;
  quiet.abort();
  await deciding;
  return {
    faults,
    refused: world.harness.model.requests.filter(({ status }) => status === 400).length,
    history: {
      operations: world.recorder.operations,
      effects,
      owners: ownerEntries(world.logFile),
      watches: [...world.recorder.watches, ...world.bystander.watches],
      tasks: await recordedTasks(world.harness.database.url, tenant),
    },
  };
}

async function startWorld(folder: string, random: Random) {
  await using started = new AsyncDisposableStack();
  const postgres = started.use(await startPostgres({ durable: true }));
  const nats = started.use(await startNats());
  const harness = started.use(await startHarness(plannedScript, { databaseUrl: postgres.url, natsUrl: nats.url }));
  const logFile = `${folder}/owners-${newId()}.jsonl`;
  const running = new Map<
    number,
    { readonly process: OrchestratorProcess; readonly front: ReturnType<typeof harness.connect> }
  >();
  let starts = 0;
  const start = async (slot: number, failing: boolean) => {
    const failAt = { point: random.pick(failpoints), hit: 1 + random.below(6) };
    const plan: InterceptPlan = {
      ...{ owner: `replica ${slot}, start ${starts++}`, logFile, disturbBus: random.below(2 ** 31) },
      ...(failing ? { failAt } : {}),
    };
    const environment = { ...harness.environment, ...short, DROVER_REPLICA: `replica-${slot}` };
    const process = await startOrchestratorProcess(environment, plan).catch(() => undefined);
    if (process !== undefined) running.set(slot, { process, front: harness.connect(process.address) });
  };
  const end = async (slot: number) => {
    const old = running.get(slot);
    running.delete(slot);
    await old?.front[Symbol.asyncDispose]();
    await old?.process[Symbol.asyncDispose]();
  };
  started.defer(async () => void (await Promise.all([...running.keys()].map(end))));
  await Promise.all(Array.from({ length: replicas }, (_, slot) => start(slot, false)));
  for (const { front } of running.values()) await askAbout(front, tenant);
  const anyReplica = () => {
    const { front } = random.pick([...running.values()]);
    return front;
  };
  const owned = started.move();
  return {
    ...{ harness, postgres, nats, logFile, running, start, end },
    recorder: new Recorder(tenant, anyReplica),
    /** Watches while the faults come; the recorder watches once more when they are over. */
    bystander: new Recorder(tenant, anyReplica),
    /** Every replica fresh and without a plan to fail. */
    async mend() {
      for (let slot = 0; slot < replicas; slot++) {
        await end(slot);
        while (!running.has(slot)) await start(slot, false);
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** What can go wrong, each by a name that is counted. */
const strike: Readonly<Record<string, (world: World, random: Random) => Promise<void>>> = {
  async "SIGKILL and restart"(world, random) {
    const slot = random.below(replicas);
    world.running.get(slot)?.process.kill("SIGKILL");
    await world.end(slot);
    await world.start(slot, false);
  },
  async "SIGKILL at a failpoint"(world, random) {
    const slot = random.below(replicas);
    await world.end(slot);
    await world.start(slot, true);
    await Promise.race([world.running.get(slot)?.process.exited, pause(4_000)]);
    await world.end(slot);
    await world.start(slot, false);
  },
  async "SIGSTOP past the lease, SIGCONT"(world, random) {
    const process = world.running.get(random.below(replicas))?.process;
    process?.kill("SIGSTOP");
    await pause(1_500 + random.below(2_500));
    process?.kill("SIGCONT");
  },
  async "SIGTERM and restart"(world, random) {
    const slot = random.below(replicas);
    const process = world.running.get(slot)?.process;
    process?.kill("SIGTERM");
    await Promise.race([process?.exited, pause(5_000)]);
    await world.end(slot);
    await world.start(slot, false);
  },
  async "Postgres restart"({ postgres }, random) {
    await postgres.stop();
    await pause(random.below(1_500));
    await postgres.start();
  },
  async "NATS restart"({ nats }, random) {
    await nats.stop();
    await pause(random.below(2_000));
    await nats.start();
  },
  async "NATS with its store wiped"({ nats }) {
    await nats.wipe();
  },
};

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
