import fc from "fast-check";
import { expect, test } from "vitest";
import { Demultiplexer, type OutputPiece } from "./demultiplexer.ts";

function frame(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

async function read(chunks: readonly Buffer[]): Promise<Record<OutputPiece["stream"], Buffer>> {
  const demultiplexer = new Demultiplexer();
  const parts: Record<OutputPiece["stream"], Buffer[]> = { stdout: [], stderr: [] };
  const reading = (async () => {
    for await (const { stream, data } of demultiplexer as AsyncIterable<OutputPiece>) parts[stream].push(data);
  })();
  for (const chunk of chunks) demultiplexer.write(chunk);
  demultiplexer.end();
  await reading;
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

test("both streams come out whole, however the bytes are cut into chunks", async () => {
  const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 20 })), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(frames, fc.integer({ min: 1, max: 30 }), async (made, size) => {
      const bytes = Buffer.concat(made.map(([type, payload]) => frame(type, Buffer.from(payload))));
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const of = (type: number) => Buffer.concat(made.filter(([t]) => t === type).map(([, payload]) => payload));
      expect(await read(chunks)).toEqual({ stdout: of(1), stderr: of(2) });
    }),
  );
});

test("a chunk of a hundred thousand one-byte frames is no deeper than any other", async () => {
  const one = [frame(1, Buffer.from("o")), frame(2, Buffer.from("e"))];
  const bytes = Buffer.concat(Array.from({ length: 100_000 }, (_, i) => one[i % 2] as Buffer));
  const { stdout, stderr } = await read([bytes]);
  expect([stdout.length, stderr.length]).toEqual([50_000, 50_000]);
});

test("an error of the engine, an unknown type and an end within a frame are errors", async () => {
  await expect(read([frame(3, Buffer.from("no space left"))])).rejects.toThrow("no space left");
  await expect(read([frame(9, Buffer.from("x"))])).rejects.toThrow(/unknown type/);
  await expect(read([frame(1, Buffer.from("whole")).subarray(0, 10)])).rejects.toThrow(/within a frame/);
});

test("who does not read stops the stream", () => {
  const demultiplexer = new Demultiplexer();
  const chunk = frame(1, Buffer.alloc(16 * 1024));
  let written = 0;
  while (written < 1000 && demultiplexer.write(chunk)) written++;
  expect(written).toBeLessThan(100);
  demultiplexer.destroy();
});
