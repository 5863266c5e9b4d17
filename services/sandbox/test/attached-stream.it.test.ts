import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { newId } from "@drover/kernel";
import { expect, test, vi } from "vitest";
import { AttachedStream } from "../src/infrastructure/docker/attached-stream.ts";

const upgraded = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

/** An engine that gives `answer` its connection. */
async function engine(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.once("data", () => answer(socket));
  });
  // An abstract name leaves no file behind.
  const path = `\0drover-${newId()}`;
  await once(server.listen(path), "listening");
  return {
    open: (signal = new AbortController().signal) => AttachedStream.open({ path }, "c1", signal),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), "close");
    },
  };
}

test("bytes that come with the head, and before anybody reads, are the first ones; an end is an end", async () => {
  await using docker = await engine((socket) => {
    for (const byte of upgraded.slice(0, 20)) socket.write(byte);
    socket.write(`${upgraded.slice(20)}first `);
    socket.end("second");
  });
  const stream = await docker.open();
  await new Promise((resolve) => setTimeout(resolve, 50));
  let seen = "";
  stream.read((chunk) => {
    seen += chunk.toString();
    return undefined;
  });
  await once(stream.socket, "end");
  expect(seen).toBe("first second");
});

test("while what was given away is not taken nothing more is read, its bytes stay, and the engine is held up", async () => {
  const mebibytes = 32;
  let accepted = 0;
  await using docker = await engine(async (socket) => {
    socket.write(upgraded);
    for (; accepted < mebibytes; accepted++) {
      if (!socket.write(Buffer.alloc(1 << 20, accepted))) await once(socket, "drain").catch(() => undefined);
    }
    socket.end();
  });
  const stream = await docker.open();
  const hold = Promise.withResolvers<void>();
  let held: Buffer | undefined;
  const counts = Array<number>(mebibytes).fill(0);
  const count = (chunk: Buffer) => {
    for (const byte of chunk) counts[byte] = (counts[byte] ?? 0) + 1;
  };
  stream.read((chunk) => {
    if (held !== undefined) return void count(chunk);
    held = chunk;
    return hold.promise.then(() => count(chunk));
  });
  await vi.waitFor(() => expect(held).toBeDefined());
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(accepted).toBeLessThan(mebibytes);
  expect(held?.every((byte) => byte === 0)).toBe(true);
  hold.resolve();
  await once(stream.socket, "end");
  expect(counts).toEqual(Array(mebibytes).fill(1 << 20));
});

test("a refusal has the engine's status; silence ends with the signal's reason; what a reader throws ends the stream", async () => {
  await using refusing = await engine((socket) => socket.end("HTTP/1.1 404 Not Found\r\n\r\nNo such container: c1"));
  await expect(refusing.open()).rejects.toMatchObject({
    statusCode: 404,
    message: expect.stringContaining("No such container"),
  });
  await using silent = await engine(() => undefined);
  const abort = new AbortController();
  const opening = silent.open(abort.signal);
  abort.abort(new Error("given up"));
  await expect(opening).rejects.toThrow("given up");
  await using talking = await engine((socket) => socket.write(`${upgraded}nonsense`));
  const stream = await talking.open();
  const failed = once(stream.socket, "error");
  stream.read(() => {
    throw new Error("no such frame");
  });
  expect(await failed).toEqual([expect.objectContaining({ message: "no such frame" })]);
  await vi.waitFor(() => expect(stream.socket.destroyed).toBe(true));
});
