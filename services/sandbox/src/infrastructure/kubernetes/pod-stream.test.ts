import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { PodStream } from "./pod-stream.ts";

/** A socket as far as the stream looks at it. */
class StubSocket extends EventEmitter {
  readonly OPEN = 1;
  readonly readyState = 1;
  protocol = "v5.channel.k8s.io";
  isPaused = false;
  readonly sent: Buffer[] = [];
  readonly flushes: (() => void)[] = [];
  pause() {
    this.isPaused = true;
  }
  resume() {
    this.isPaused = false;
  }
  send(data: Buffer, done: () => void) {
    this.sent.push(data);
    this.flushes.push(done);
  }
  ping() {}
  close() {
    this.emit("close");
  }
  terminate() {
    this.emit("close");
  }
  says(channel: number, payload: Buffer | string) {
    this.emit("message", Buffer.concat([Buffer.from([channel]), Buffer.from(payload)]), true);
  }
}

function opened(protocol = "v5.channel.k8s.io") {
  const socket = Object.assign(new StubSocket(), { protocol });
  // The stub has all that the stream uses; the type of `ws` has much more.
  return { socket, stream: new PodStream(socket as unknown as WebSocket, 60_000) };
}

test("who does not read stops the socket, who reads on starts it", () => {
  const { socket, stream } = opened();
  let messages = 0;
  while (!socket.isPaused && messages < 1000) {
    socket.says(1, Buffer.alloc(16 * 1024));
    messages++;
  }
  expect(messages).toBeLessThan(100);
  while (stream.read() !== null);
  expect(socket.isPaused).toBe(false);
  stream.destroy();
});

test("a writer waits until what it sent before is on its way", () => {
  const { socket, stream } = opened();
  stream.write("one");
  stream.write("two");
  expect(socket.sent.map(String)).toEqual(["\0one"]);
  socket.flushes[0]?.();
  expect(socket.sent.map(String)).toEqual(["\0one", "\0two"]);
  stream.destroy();
});

test("the end of input is told on the close channel, before version 5 by the end of the connection", async () => {
  const { socket, stream } = opened();
  stream.end();
  await new Promise(setImmediate);
  expect(socket.sent).toEqual([Buffer.from([255, 0])]);
  const older = opened("v4.channel.k8s.io");
  older.stream.resume().end();
  await new Promise((resolve) => older.stream.once("end", resolve));
  expect(older.socket.sent).toEqual([]);
  stream.destroy();
});

test("standard error and the server's own word are kept apart from output", async () => {
  const { socket, stream } = opened();
  socket.says(1, "out");
  socket.says(2, "err ");
  socket.says(3, '{"status":"Failure"}');
  socket.close();
  const output: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) output.push(chunk);
  expect(String(Buffer.concat(output))).toBe("out");
  expect(stream.diagnostics).toBe('err {"status":"Failure"}');
});

test("a channel that nobody knows, and a text, are errors", async () => {
  for (const [data, isBinary] of [
    [Buffer.from([9, 1]), true],
    [Buffer.from("\u0001text"), false],
  ] as const) {
    const { socket, stream } = opened();
    const failed = new Promise((resolve) => stream.once("error", resolve));
    socket.emit("message", data, isBinary);
    expect(String(await failed)).toContain("unknown channel");
  }
});
