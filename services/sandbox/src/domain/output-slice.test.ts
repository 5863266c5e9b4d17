import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputCap } from "./output-cap.ts";
import { matchingSlice, sliceOf } from "./output-slice.ts";

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

const withA = (line: string) => line.includes("a");
const linesWithA = (stream: Uint8Array) => (text(stream).match(/[^\n]*\n|[^\n]+$/g) ?? []).filter(withA).join("");
const output = fc.array(fc.constantFrom("a", "b", "\n", "ab\n", "bb", "ü", "\n\n"), { maxLength: 40 });

test("a filter shows whole lines that match and leaves one that is not whole for later", () => {
  const cap = new OutputCap(100);
  cap.push(bytes("one\ntwo\nthree\ntw"));
  const startsT = (line: string) => line.startsWith("t");
  const running = matchingSlice(cap.facts(), 0, 100, startsT, false);
  expect([text(running.data), running.next]).toEqual(["two\nthree\n", 14]);
  expect(matchingSlice(cap.facts(), 14, 100, startsT, false)).toMatchObject({ data: bytes(""), next: 14 });
  const over = matchingSlice(cap.facts(), 14, 100, startsT, true);
  expect([text(over.data), over.next]).toEqual(["tw", 16]);
});

test("pages one after the other are the filter of the whole, however output, pages and reads are cut", () => {
  const pages = fc.property(
    fc.array(fc.tuple(output, fc.nat(3)), { maxLength: 8 }),
    fc.integer({ min: 1, max: 12 }),
    (chunks, max) => {
      const whole = bytes(chunks.flatMap(([pieces]) => pieces).join(""));
      const cap = new OutputCap(whole.length);
      const shown: number[] = [];
      let at = 0;
      const read = (over: boolean) => {
        const { data, next } = matchingSlice(cap.facts(), at, max, withA, over);
        expect(data.length).toBeLessThanOrEqual(max);
        shown.push(...data);
        const moved = next > at;
        at = next;
        return moved;
      };
      for (const [pieces, reads] of chunks) {
        cap.push(bytes(pieces.join("")));
        for (let count = 0; count < reads; count++) read(false);
      }
      while (read(true));
      expect(at).toBe(whole.length);
      expect(text(new Uint8Array(shown))).toBe(linesWithA(whole));
    },
  );
  fc.assert(pages);
});

test("around a gap the filter is that of both sides, and the gap is told once", () => {
  const gaps = fc.property(
    output,
    fc.integer({ min: 1, max: 20 }),
    fc.integer({ min: 1, max: 12 }),
    (pieces, size, max) => {
      const cap = new OutputCap(size);
      cap.push(bytes(pieces.join("").replaceAll("ü", "u")));
      const { head, tail, dropped, seen } = cap.facts();
      let shown = "";
      let missed = 0;
      for (let at = 0; at < seen; ) {
        const { offset, data, next, missing } = matchingSlice(cap.facts(), at, max, withA, true);
        expect(offset).toBe(at + missing);
        shown += text(data);
        missed += missing;
        expect(next).toBeGreaterThan(at);
        at = next;
      }
      const sides = dropped === 0 ? [new Uint8Array([...head, ...tail])] : [head, tail];
      expect([shown, missed]).toEqual([sides.map(linesWithA).join(""), dropped]);
    },
  );
  fc.assert(gaps);
});
