import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputCap } from "./output-cap.ts";
import { filtered, sliceOf } from "./output-slice.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

test("reading on from where a piece ended gives every kept byte once, and names what is missing", () => {
  const cases = fc.property(
    fc.uint8Array({ maxLength: 200 }),
    fc.integer({ min: 1, max: 120 }),
    fc.integer({ min: 1, max: 50 }),
    (stream, capacity, max) => {
      const cap = new OutputCap(capacity);
      cap.push(stream);
      let at = 0;
      while (at < stream.length) {
        const { offset, data, next, missing } = sliceOf(cap.facts(), at, max);
        expect(offset).toBe(at + missing);
        expect(data).toEqual(stream.slice(offset, next));
        expect(next).toBeGreaterThan(at);
        at = next;
      }
      expect(sliceOf(cap.facts(), stream.length + 5, max)).toMatchObject({
        offset: stream.length,
        next: stream.length,
      });
    },
  );
  fc.assert(cases);
});

test("a filter shows whole lines that match and counts the others", () => {
  const cap = new OutputCap(100);
  cap.push(bytes("one\ntwo\nthree\ntw"));
  const slice = sliceOf(cap.facts(), 0, 100);
  const running = filtered(slice, (line) => line.startsWith("t"), false);
  expect([text(running.data), running.next]).toEqual(["two\nthree\n", 14]);
  const over = filtered(slice, (line) => line.startsWith("t"), true);
  expect([text(over.data), over.next]).toEqual(["two\nthree\ntw", 16]);
});
