import type { ConnectRouter } from "@connectrpc/connect";
import { OutputStream, Phase, Verdict } from "@drover/proto/sandbox/v1/exec";
import { ExecService, type RunRequest } from "@drover/proto/sandbox/v1/exec_service";
import { expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway } from "./fake-gateway.ts";

const bytes = Buffer.from([0x00, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0xff, 0xfe, 0x0a]);

function serveRuns(requests: RunRequest[]): (router: ConnectRouter) => void {
  return (router) =>
    router.service(ExecService, {
      async *run(request) {
        requests.push(request);
        yield { event: { case: "accepted", value: { executionId: "e" } } };
        const { STDOUT, STDERR } = OutputStream;
        yield { event: { case: "data", value: { stream: STDOUT, data: bytes.subarray(0, 4) } } };
        yield { event: { case: "data", value: { stream: STDERR, data: Buffer.from("warn\n") } } };
        const stdout = { bytesSeen: 9n, bytesKept: 9n, head: bytes.subarray(0, 5), tail: bytes.subarray(5) };
        const ending =
          request.language === "python"
            ? { verdict: Verdict.EXITED, exitCode: 7 }
            : { verdict: Verdict.TIMEOUT_WALL, message: "It ran longer than 1 s." };
        yield { event: { case: "ended", value: { execution: { stdout, ...ending } } } };
      },
    });
}

test("exec passes bytes exactly, completes what the stream lacked, and ends as the program did", async () => {
  const requests: RunRequest[] = [];
  await using gateway = await startFakeGateway(serveRuns(requests));
  const words = ["exec", "--lang", "python", "-", "--url", gateway.url, "--", "--json", "-v"];
  const { code, stdout, stderr } = await startDrover(words, {}, "print(1)").ended;
  expect(code).toBe(7);
  expect(stdout).toEqual(bytes);
  expect(stderr).toBe("warn\n");
  expect(requests[0]).toMatchObject({ language: "python", code: "print(1)", arguments: ["--json", "-v"] });
});

test("exec says how a program ended that did not end by itself", async () => {
  await using gateway = await startFakeGateway(serveRuns([]));
  const words = ["exec", "--lang", "bash", "-", "--url", gateway.url];
  const { code, stderr } = await startDrover(words, {}, "sleep 9").ended;
  expect(code).toBe(1);
  expect(stderr).toBe("warn\nThe program did not end by itself: timeout wall. It ran longer than 1 s.\n");
});

test("exec --json has bytes as base64, and as text only where they are text", async () => {
  await using gateway = await startFakeGateway(serveRuns([]));
  const words = ["exec", "--lang", "python", "-", "--json", "--url", gateway.url];
  const { code, stdout } = await startDrover(words, {}, "1").ended;
  expect(code).toBe(7);
  expect(JSON.parse(stdout.toString())).toEqual({
    execution: expect.objectContaining({ verdict: "VERDICT_EXITED", exitCode: 7 }),
    stdout: { base64: bytes.toString("base64") },
    stderr: { base64: Buffer.from("warn\n").toString("base64"), text: "warn\n" },
  });
});

test("exec says what a compiler wrote on standard error, and --json has it apart", async () => {
  const stderr = {
    bytesSeen: 100n,
    bytesKept: 12n,
    head: Buffer.from("error\n"),
    tail: Buffer.from("stop.\n"),
    bytesDropped: 88n,
  };
  const execution = { verdict: Verdict.EXITED, exitCode: 1, phase: Phase.COMPILE, compile: { exitCode: 1, stderr } };
  await using gateway = await startFakeGateway((router) =>
    router.service(ExecService, {
      async *run() {
        yield { event: { case: "ended", value: { execution } } };
      },
    }),
  );
  const words = ["exec", "--lang", "c", "-", "--url", gateway.url];
  const { code, stdout, stderr: said } = await startDrover(words, {}, "int main(").ended;
  const output = "error\n\n[88 bytes are missing here]\nstop.\n";
  expect([code, stdout.length, said]).toEqual([1, 0, output]);
  const json = await startDrover([...words, "--json"], {}, "int main(").ended;
  expect(JSON.parse(json.stdout.toString())).toMatchObject({
    execution: { phase: "PHASE_COMPILE", compile: { exitCode: 1, stderr: { bytesDropped: "88" } } },
    compiler: { text: output },
  });
  expect(json.stdout.toString()).not.toContain(Buffer.from("stop.\n").toString("base64"));
});
