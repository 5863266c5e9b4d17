import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputCap } from "./output-cap.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("up to its capacity nothing is lost, beyond it the middle is", () => {
  const cap = new OutputCap(10);
  cap.push(bytes("0123456789"));
  expect(cap.facts()).toEqual({ seen: 10, head: bytes("01234"), tail: bytes("56789"), dropped: 0 });
  cap.push(bytes("ab"));
  expect(cap.facts()).toEqual({ seen: 12, head: bytes("01234"), tail: bytes("789ab"), dropped: 2 });
});

test("head, dropped and tail always add up to the whole stream, however it is cut", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 12 }),
      (capacity, chunks) => {
        const cap = new OutputCap(capacity);
        for (const chunk of chunks) cap.push(chunk);
        const whole = Buffer.concat(chunks);
        const { seen, head, tail, dropped } = cap.facts();
        expect(seen).toBe(whole.length);
        expect(head.length + tail.length + dropped).toBe(whole.length);
        expect(head.length + tail.length).toBe(Math.min(capacity, whole.length));
        expect(Buffer.from(head)).toEqual(whole.subarray(0, head.length));
        expect(Buffer.from(tail)).toEqual(whole.subarray(whole.length - tail.length));
      },
    ),
  );
});
