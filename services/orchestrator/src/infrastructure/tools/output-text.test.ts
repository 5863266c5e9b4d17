import { create } from "@bufbuild/protobuf";
import { OutputFactsSchema } from "@drover/proto/sandbox/v1/exec";
import { expect, test } from "vitest";
import { outputText } from "./output-text.ts";

/** What is kept of a text when `kept` bytes are left at each end. */
function cut(text: string, kept: number) {
  const bytes = new TextEncoder().encode(text);
  const [head, tail] = [bytes.slice(0, kept), bytes.slice(bytes.length - kept)];
  const bytesSeen = BigInt(bytes.length);
  return create(OutputFactsSchema, { head, tail, bytesSeen, bytesDropped: bytesSeen - BigInt(2 * kept) });
}

test("a character between head and tail of a whole output stays one", () => {
  const bytes = new TextEncoder().encode("a€b");
  const facts = create(OutputFactsSchema, { head: bytes.slice(0, 2), tail: bytes.slice(2), bytesSeen: 5n });
  expect(outputText(facts)).toBe("a€b");
});

test.each(["é", "€", "🐑"])("%s is never cut through, and the marker counts what is missing", (character) => {
  const text = character.repeat(100);
  const size = new TextEncoder().encode(character).length;
  for (let kept = 1; kept <= 12; kept++) {
    const whole = Math.floor(kept / size);
    const missing = 100 * size - 2 * whole * size;
    const side = character.repeat(whole);
    expect(outputText(cut(text, kept))).toBe(
      `${side}\n[${missing} bytes of ${100 * size} were dropped here: over the output limit]\n${side}`,
    );
  }
});

test("bytes that are no text do no harm", () => {
  const head = new Uint8Array([0x80, 0x80, 0x80, 0x80, 0xff]);
  const text = outputText(create(OutputFactsSchema, { head, tail: head, bytesSeen: 20n, bytesDropped: 10n }));
  expect(text).toContain("of 20 were dropped");
  expect(text.isWellFormed()).toBe(true);
});
