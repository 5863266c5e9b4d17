import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** ELF header of a 64-bit executable for a machine that nobody has here (s390). */
const foreignProgram = Buffer.concat([
  Buffer.from("7f454c4602020100000000000000000000020016", "hex"),
  Buffer.alloc(1000),
]);
const foreignImage = `drover-test/foreign-${randomUUID()}:1`;
const awayImage = "registry.invalid/drover/none:1";
let folder: string;
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "foreign-image-"));
  await mkdir(join(folder, "sbin"));
  await mkdir(join(folder, "workspace"));
  await writeFile(join(folder, "sbin/drover-init"), foreignProgram, { mode: 0o755 });
  const change = 'ENTRYPOINT ["/sbin/drover-init"]';
  const build = 'tar c -C "$1" . | docker import --change "$2" - "$3"';
  await promisify(execFile)("sh", ["-c", build, "sh", folder, change, foreignImage]);
  const language = { mainFile: "main.sh", command: ["/bin/sh", "{program}"] };
  const languages = [
    { ...language, name: "foreign", image: foreignImage },
    { ...language, name: "away", image: awayImage },
  ];
  sandbox = await startUnderTest({
    DROVER_SANDBOX_LANGUAGES: JSON.stringify(languages),
    DROVER_LOG_LEVEL: "silent",
    DROVER_SANDBOX_POOL_MAX: "0",
  });
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await sandbox?.docker.getImage(foreignImage).remove({ force: true });
  await rm(folder, { recursive: true, force: true });
});

test("an image for another machine cannot be launched, and leaves no container", async () => {
  const { execution } = await sandbox.run("foreign", "true");
  expect(execution).toMatchObject({ verdict: Verdict.LAUNCH_FAILED, killedBy: "", oomSeen: false });
  expect(execution.message).toContain("another machine");
  await expect.poll(() => sandbox.containers("all")).toEqual([]);
});

test("an image that is not here is refused at once: no registry is asked, and no container made", async () => {
  const before = await sandbox.runsOfMadeContainers();
  const callId = newId();
  await expect(sandbox.run("away", "true", { callId })).rejects.toMatchObject({
    code: "FAILED_PRECONDITION",
    reason: "IMAGE_MISSING",
    message: expect.stringContaining(awayImage),
  });
  const key = { case: "callId" as const, value: callId };
  await expect(sandbox.exec.getExecution({ key }, sandbox.as(sandbox.tenant))).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  const pulls = await sandbox.docker.getEvents({
    since: 0,
    until: Math.floor(Date.now() / 1000),
    filters: JSON.stringify({ event: ["pull"], image: [awayImage] }),
  });
  expect(await text(pulls)).toBe("");
  expect(await sandbox.runsOfMadeContainers()).toEqual(before);
});
