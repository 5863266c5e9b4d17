import fc from "fast-check";
import { expect, test } from "vitest";
import { frontendMessages, requestOf } from "./frontend-messages.ts";

const typed = (type: string, body: Uint8Array) => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
};
const untyped = (code: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeInt32BE(8);
  bytes.writeInt32BE(code, 4);
  return bytes;
};

async function read(...chunks: Uint8Array[]) {
  const messages = [];
  const source = (async function* () {
    yield* chunks;
  })();
  for await (const message of frontendMessages(source)) messages.push(message);
  return messages;
}

test("messages come out whole however the bytes were cut", async () => {
  const body = fc.uint8Array({ maxLength: 40 });
  const messages = fc.array(fc.tuple(fc.constantFrom("Q", "P", "B", "S"), body), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(messages, fc.infiniteStream(fc.integer({ min: 1, max: 30 })), async (sent, cuts) => {
      const stream = Buffer.concat([untyped(80877103), untyped(0x30000), ...sent.map(([type, it]) => typed(type, it))]);
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < stream.length; ) {
        const size = cuts.next().value ?? 1;
        chunks.push(stream.subarray(at, at + size));
        at += size;
      }
      const found = await read(...chunks);
      expect(found.map(({ type }) => type)).toEqual(["", "", ...sent.map(([type]) => type)]);
      expect(Buffer.concat(found.map(({ bytes }) => bytes)).equals(stream)).toBe(true);
    }),
  );
});

test("the first messages are told apart by their code", async () => {
  const kinds = async (code: number) =>
    requestOf((await read(untyped(code)))[0] ?? { type: "", bytes: new Uint8Array(8) });
  expect(await kinds(0x30000)).toBe("startup");
  expect(await kinds(80877103)).toBe("encryption");
  expect(await kinds(80877102)).toBe("other");
});

test.each([-1, 0, 3, 0x7fffffff])("a length of %i is refused", async (length) => {
  const bytes = Buffer.from("Q0000");
  bytes.writeInt32BE(length, 1);
  await expect(read(untyped(0x30000), bytes)).rejects.toThrow(RangeError);
});
