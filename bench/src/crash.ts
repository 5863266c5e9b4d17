import { startFakePeers } from "@drover/orchestrator/test/fake-peers";
import { randomOf } from "@drover/orchestrator/test/random";
import { generateIdentityKeys } from "@drover/rpc";
import { startNats, startPostgres } from "@drover/testkit";
import { type Script, startScriptedModel } from "@drover/testkit/scripted-model";
import { startFleet } from "./crash-fleet.ts";
import { createWatcher } from "./crash-record.ts";
import { percentile, print, report, row } from "./run.ts";

/**
 * Two replicas of the orchestrator, processes of their own, under load; one after the other is killed with SIGKILL at a
 * random moment. Every second time it is started again at once, else only when its tasks were taken over.
 */
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const kills = Number(process.env.KILLS ?? 60);
const leaseTtlMs = 3_000;
const tasksAtOnce = 8;
const rounds = 12;

/** Asks for two programs a round, which name task, round and place: whoever runs one twice is found out. */
const script: Script = (messages) => {
  const mark = /task-\d+/.exec(JSON.stringify(messages.find((message) => message.role === "user")?.content))?.[0];
  const round = messages.filter((message) => message.role === "assistant").length;
  if (round >= rounds) return { text: `${mark} has ${messages.filter((m) => m.role === "tool").length} results` };
  const call = (n: number) => ({
    ...{ name: "run_code", arguments: { language: "python", code: `print ${mark} round ${round} call ${n}` } },
  });
  return { toolCalls: [call(0), call(1)], delayMs: 20 };
};

print(`crash: seed ${seed}, ${kills} kills`);
await using started = new AsyncDisposableStack();
const keys = await generateIdentityKeys();
const postgres = started.use(await startPostgres({ durable: true }));
const nats = started.use(await startNats());
const peers = started.use(await startFakePeers(keys.publicKeys));
const model = started.use(await startScriptedModel({ script }));
const fleet = started.use(
  await startFleet({
    keys,
    tasksAtOnce,
    environment: {
      ...peers.environment,
      ...{ DATABASE_URL: postgres.url, NATS_URL: nats.url, DROVER_LEASE_TTL_MS: String(leaseTtlMs) },
      ...{ DROVER_WORKER_SLOTS: String(tasksAtOnce), DROVER_TENANT_RUNNING: "100", DROVER_MAX_ROUNDS: "50" },
      ...{ OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: model.apiKey },
    },
  }),
);
const record = started.use(await createWatcher(postgres.url));
const random = randomOf(seed);
const takenOver: number[] = [];
const restarted: number[] = [];

for (let kill = 0; kill < kills; kill++) {
  await new Promise((resolve) => setTimeout(resolve, 200 + random.below(1_000)));
  const which = random.below(2);
  const back = kill % 2 === 0;
  const killedAt = performance.now();
  await fleet.kill(which);
  const held = await record.heldBy(fleet.nameOf(which));
  const restarting = back ? fleet.start(which) : undefined;
  (back ? restarted : takenOver).push(...(await record.workedOn(held, killedAt)));
  await (restarting ?? fleet.start(which));
  if ((kill + 1) % 10 === 0) print(`  crash: ${kill + 1} kills, ${fleet.ended} tasks ended`);
}
await fleet.settle();

const programs = [...peers.state.runs.values()].map((run) => run.body);
const refused = model.requests.filter((request) => request.status === 400).length;
const found = await record.faults(rounds, fleet.submitted);
for (const fault of found.slice(0, 10)) print(`  ${fault}`);
report("crash", `${kills} SIGKILLs of 2 replicas under ${tasksAtOnce} tasks, lease ${leaseTtlMs} ms, seed ${seed}`, [
  row("kills", "", kills, ">= 50"),
  row("tasks", "", fleet.submitted),
  row("tasks interrupted", "", takenOver.length + restarted.length),
  row("kill to new work, by the other, p50", "ms", percentile(takenOver, 0.5)),
  row("kill to new work, by the other, p95", "ms", percentile(takenOver, 0.95), `<= ${leaseTtlMs + 2_000}`),
  row("kill to new work, started again, p50", "ms", percentile(restarted, 0.5)),
  row("kill to new work, started again, p95", "ms", percentile(restarted, 0.95), "<= 2000"),
  row("programs run", "", programs.length),
  row("programs that never ran", "", 2 * rounds * fleet.submitted - new Set(programs).size, "<= 0"),
  row("programs run twice", "", programs.length - new Set(programs).size, "<= 0"),
  row("tasks with lost or surplus steps", "", found.length, "<= 0"),
  row("histories that a strict provider refused", "", refused, "<= 0"),
]);
