import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import type { CollectedChange } from "../../application/ports.ts";
import { encodeControl, encodeFrame, type Frame, FrameParser, frameTypes as types } from "./frame.ts";
import { InitChannel } from "./init-channel.ts";

/** Process 1 as a script: what it gets is parsed, what it says is sent by the test. */
function connect() {
  const parser = new FrameParser();
  const got: Frame[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      got.push(...parser.push(chunk));
      done();
    },
  });
  const channel = new InitChannel(socket);
  const say = (type: number, value: unknown) => channel.receive(encodeControl(type, value));
  const sent = (type: number) => got.filter((frame) => frame.type === type);
  return { channel, say, sent };
}

const program = { argv: ["/bin/true"], environment: {}, onStarted: () => undefined, onOutput: () => undefined };

test("READY counts also when it comes before anybody asks for it", async () => {
  const { channel, say } = connect();
  await say(types.ready, { protocol: 1 });
  await expect(channel.ready()).resolves.toBeUndefined();
});

test("a program's output, input window and exit", async () => {
  const { channel, say, sent } = connect();
  const output: string[] = [];
  const onOutput = (stream: string, bytes: Uint8Array) => output.push(`${stream}:${Buffer.from(bytes)}`);
  const report = channel.run({ ...program, stdin: Buffer.alloc(32 * 1024 * 10), onOutput });
  await say(types.started, { phase: "run" });
  expect(sent(types.stdin)).toHaveLength(8);
  expect(sent(types.stdinClose)).toHaveLength(0);
  for (let i = 0; i < 2; i++) await channel.receive(encodeFrame(types.stdinAck, Buffer.alloc(0)));
  expect(sent(types.stdin)).toHaveLength(10);
  expect(sent(types.stdinClose)).toHaveLength(1);
  await channel.receive(
    Buffer.concat([encodeFrame(types.stdout, Buffer.from("o")), encodeFrame(types.stderr, Buffer.from("e"))]),
  );
  const used = { user_us: 1000, system_us: 500, max_rss_bytes: 7, wall_us: 2000 };
  await say(types.exit, { code: 3, ...used, oom_kills: 1, beside: true });
  const facts = { oomKills: 1, beside: true, wallMs: 2, cpuMs: 1.5, peakMemoryBytes: 7 };
  expect(await report).toEqual({ exit: { code: 3 }, ...facts });
  expect(output).toEqual(["stdout:o", "stderr:e"]);
});

test("a loss rejects what is pending and everything after it, with the first reason", async () => {
  const { channel, say } = connect();
  const report = channel.run({ ...program, stdin: Buffer.alloc(0) });
  await say(types.fault, { reason: "WORKSPACE_FULL", message: "no space" });
  channel.lose("later");
  await expect(report).rejects.toMatchObject({ code: "UNAVAILABLE", reason: "WORKSPACE_FULL" });
  await expect(channel.collect({ maxFiles: 1, maxBytes: 1 }, async () => undefined)).rejects.toMatchObject({
    reason: "WORKSPACE_FULL",
  });
});

test("changes are put together, and more than was asked for is a breach", async () => {
  const { channel, say } = connect();
  const found: CollectedChange[] = [];
  const collected = channel.collect({ maxFiles: 2, maxBytes: 10 }, async (change) => void found.push(change));
  await say(types.change, { op: "put", path: "a", size: 4, exec: true });
  for (const part of ["ab", "cd"]) await channel.receive(encodeFrame(types.changeData, Buffer.from(part)));
  await say(types.change, { op: "skip", path: "l", reason: "SYMLINK" });
  await say(types.changesEnd, {});
  await collected;
  expect(found).toEqual([
    { kind: "put", path: "a", content: Buffer.from("abcd"), executable: true },
    { kind: "skip", path: "l", reason: "SYMLINK" },
  ]);
  const again = channel.collect({ maxFiles: 2, maxBytes: 10 }, async () => undefined);
  const refused = expect(again).rejects.toThrow(/more changes/);
  await say(types.change, { op: "put", path: "b", size: 11 });
  await refused;
});

test("output is the same however it is cut into chunks, and no frame after it is lost", () => {
  const made = [
    encodeFrame(types.stdout, Buffer.from("first, of some length")),
    encodeFrame(types.stderr, Buffer.from("an error")),
    encodeFrame(types.stdout, new Uint8Array()),
    encodeControl(types.exit, { code: 0 }),
    encodeFrame(types.stdout, Buffer.from("last")),
  ];
  const bytes = Buffer.concat(made);
  for (let size = 1; size <= bytes.length; size++) {
    const parser = new FrameParser();
    const seen = new Map<number, string>();
    for (let at = 0; at < bytes.length; at += size) {
      for (const { type, payload } of parser.push(bytes.subarray(at, at + size))) {
        seen.set(type, (seen.get(type) ?? "") + payload.toString());
      }
    }
    expect([...seen].sort()).toEqual([
      [types.stdout, "first, of some lengthlast"],
      [types.stderr, "an error"],
      [types.exit, '{"code":0}'],
    ]);
  }
});

test("a frame of absurd size is refused before it is waited for", () => {
  expect(() => new FrameParser().push(Buffer.from([types.stdout, 0xff, 0xff, 0xff, 0xff]))).toThrow(/4294967295/);
});

test("files of a session yield: which were refused is told when all are settled, once", async () => {
  const { channel, say, sent } = connect();
  const file = { content: Buffer.from("x"), executable: false, ephemeral: false };
  await channel.session.putFile({ path: "d/f", ...file });
  await channel.putFile({ path: "e", ...file });
  expect(sent(types.file).map(({ payload }) => JSON.parse(payload.toString()))).toMatchObject([
    { path: "d/f", yields: true },
    { path: "e", yields: false },
  ]);
  await say(types.refused, { path: "d/f", reason: "IN_THE_WAY" });
  for (const paths of [["d/f"], []]) {
    const settled = channel.session.settle();
    await channel.receive(encodeFrame(types.settled, Buffer.alloc(0)));
    expect([...(await settled).keys()]).toEqual(paths);
  }
});
