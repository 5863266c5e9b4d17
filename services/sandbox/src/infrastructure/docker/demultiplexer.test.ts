import fc from "fast-check";
import { expect, test } from "vitest";
import { Demultiplexer, type OutputPiece } from "./demultiplexer.ts";

function frame(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

function read(chunks: readonly Buffer[]): Record<OutputPiece["stream"], Buffer> {
  const demultiplexer = new Demultiplexer();
  const parts: Record<OutputPiece["stream"], Buffer[]> = { stdout: [], stderr: [] };
  // As from a connection: each chunk in a buffer of its own that nobody may look at later.
  for (const chunk of chunks.map((bytes) => Buffer.from(bytes))) {
    for (const { stream, data } of demultiplexer.cut(chunk)) parts[stream].push(Buffer.from(data));
    chunk.fill(0);
  }
  demultiplexer.end();
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

test("both streams come out whole, however the bytes are cut into chunks", () => {
  const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 20 })), { maxLength: 20 });
  fc.assert(
    fc.property(frames, fc.integer({ min: 1, max: 30 }), (made, size) => {
      const bytes = Buffer.concat(made.map(([type, payload]) => frame(type, Buffer.from(payload))));
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const of = (type: number) => Buffer.concat(made.filter(([t]) => t === type).map(([, payload]) => payload));
      expect(read(chunks)).toEqual({ stdout: of(1), stderr: of(2) });
    }),
  );
});

test("small and large payloads of one stream in one chunk keep their order", () => {
  const payloads = [10, 5000, 1, 4096, 4095, 0, 3].map((length, i) => Buffer.alloc(length, i + 1));
  const { stdout } = read([Buffer.concat(payloads.map((payload) => frame(1, payload)))]);
  expect(stdout.equals(Buffer.concat(payloads))).toBe(true);
});

test("a chunk of a hundred thousand one-byte frames of one stream is one piece", () => {
  const bytes = Buffer.concat(Array.from({ length: 100_000 }, (_, i) => frame(1, Buffer.from([i & 0xff]))));
  const pieces = [...new Demultiplexer().cut(bytes)];
  expect(pieces.map(({ data }) => data.length)).toEqual([100_000]);
  expect(pieces[0]?.data.every((byte, i) => byte === (i & 0xff))).toBe(true);
});

test("an error of the engine, an unknown type and an end within a frame are errors", () => {
  expect(() => read([frame(3, Buffer.from("no space left"))])).toThrow("no space left");
  expect(() => read([frame(9, Buffer.from("x"))])).toThrow(/unknown type/);
  expect(() => read([frame(1, Buffer.from("whole")).subarray(0, 10)])).toThrow(/within a frame/);
});

test("what came before an error of the engine comes out before it", () => {
  const seen: string[] = [];
  const cutting = () => {
    const bytes = Buffer.concat([frame(1, Buffer.from("before")), frame(3, Buffer.from("gone"))]);
    for (const { data } of new Demultiplexer().cut(bytes)) seen.push(data.toString());
  };
  expect(cutting).toThrow("gone");
  expect(seen).toEqual(["before"]);
});
