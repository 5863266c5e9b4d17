import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createInProcessBus } from "@drover/bus";
import { newId } from "@drover/kernel";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { startSandbox } from "@drover/sandbox/wiring";
import { startPostgres } from "@drover/testkit";
import { percentile, type ResultRow, report, rowAgainst } from "./run.ts";

/**
 * A cold run of a one-line program: ours from the call to the message that says the container is gone (a gRPC call, three
 * commits in Postgres and a removal that is verified included), against `docker run --rm` with the same flags on the same
 * image. The two take turns, so that both see the same machine.
 */
const rounds = Number(process.env.ROUNDS ?? 40);
const warmUp = 3;
const execute = promisify(execFile);
const repository = fileURLToPath(new URL("../..", import.meta.url));

const mount = "rw,exec,nosuid,nodev,nr_inodes=16384,size=134217728";
const flags = [
  ["--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--ipc=private"],
  ["--memory=512m", "--memory-swap=512m", "--cpus=1", "--pids-limit=100", "--shm-size=16m", "--log-driver=none"],
  ["--ulimit=nofile=256:256", "--ulimit=core=0:0", "--ulimit=fsize=536870912:536870912", "--user=65534:65534"],
  [`--tmpfs=/tmp:${mount},mode=1777`, `--tmpfs=/workspace:${mount},mode=0755,uid=65534,gid=65534`],
].flat();

const programs = [
  { language: "bash", code: "echo hi", direct: ["/usr/bin/bash", "-c", "echo hi"] },
  { language: "python", code: "print('hi')", direct: ["/usr/bin/python3", "-B", "-c", "print('hi')"] },
];

await using postgres = await startPostgres();
const keys = await generateIdentityKeys();
await using bus = createInProcessBus();
await using service = await startSandbox(
  {
    DATABASE_URL: postgres.url,
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_LOG_LEVEL: "warn",
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
  },
  { bus },
);
const minter = await createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
await using transport = createRpcTransport({ addresses: service.address, audience: "sandbox", minter });
const client = createClient(ExecService, transport);
const caller = { tenant: "bench", subject: "bench", scopes: ["exec:run"] };

const rows: ResultRow[] = [];
for (const program of programs) {
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let round = -warmUp; round < rounds; round++) {
    const ours = await timed(() => runOurs(program.language, program.code));
    const peer = await timed(() => runDirect(program.language, program.direct));
    if (round < 0) continue;
    times.ours.push(ours);
    times.peer.push(peer);
  }
  for (const [name, p, goal] of [
    ["p50", 0.5, "<= 1.3"],
    ["p99", 0.99, null],
  ] as const) {
    const against = rowAgainst(
      `cold run, ${program.language}, ${name}`,
      "ms",
      percentile(times.ours, p),
      {
        name: "docker run --rm",
        value: percentile(times.peer, p),
        better: "more",
      },
      goal,
    );
    rows.push(against);
  }
}
report("sandbox-cold", `ours / docker run with the same flags, ${rounds} of each in turns; smaller is better`, rows);

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function runOurs(language: string, code: string): Promise<void> {
  let output = "";
  let exitCode: number | undefined;
  for await (const { event } of client.run({ callId: newId(), language, code }, { contextValues: actingAs(caller) })) {
    if (event.case === "data") output += Buffer.from(event.value.data).toString();
    if (event.case === "ended") exitCode = event.value.execution?.exitCode;
  }
  if (output !== "hi\n" || exitCode !== 0) throw new Error(`Our run answered ${exitCode} ${JSON.stringify(output)}.`);
}

async function runDirect(language: string, command: readonly string[]): Promise<void> {
  const [entry = "", ...rest] = command;
  const image = `drover/sandbox-${language}:1`;
  const { stdout } = await execute("docker", ["run", ...flags, `--entrypoint=${entry}`, image, ...rest], {
    cwd: repository,
  });
  if (stdout !== "hi\n") throw new Error(`docker run answered ${JSON.stringify(stdout)}.`);
}
