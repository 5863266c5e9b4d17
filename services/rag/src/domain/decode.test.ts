import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText } from "./decode.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
function utf16(text: string, bigEndian: boolean, mark = true): Uint8Array {
  const units = (mark ? "\ufeff" : "") + text;
  const view = new DataView(new ArrayBuffer(2 * units.length));
  for (let i = 0; i < units.length; i++) view.setUint16(2 * i, units.charCodeAt(i), !bigEndian);
  return new Uint8Array(view.buffer);
}

describe("decodeText", () => {
  it.each([
    ["UTF-8", utf8("héllo 世界")],
    ["UTF-8 with a mark", utf8("\ufeffhéllo 世界")],
    ["UTF-16 little-endian with a mark", utf16("héllo 世界", false)],
    ["UTF-16 big-endian with a mark", utf16("héllo 世界", true)],
  ])("reads %s", (_, bytes) => {
    expect(decodeText(bytes)).toEqual({ text: "héllo 世界" });
  });

  it.each([true, false])("knows UTF-16 without a mark by its NUL bytes (big-endian %s)", (bigEndian) => {
    expect(decodeText(utf16("plain English text", bigEndian, false))).toEqual({ text: "plain English text" });
  });

  it.each([
    ["nothing", new Uint8Array(), "empty"],
    ["white space", utf8(" \n\t\u3000"), "empty"],
    ["Latin-1", new Uint8Array([0x63, 0x61, 0x66, 0xe9, 0x20, 0x61]), "encoding"],
    ["GBK", new Uint8Array([0xd6, 0xd0, 0xce, 0xc4]), "encoding"],
    ["UTF-32", new Uint8Array([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), "encoding"],
    ["half a UTF-16 unit", new Uint8Array([0xff, 0xfe, 0x61, 0, 0x62]), "encoding"],
    ["a ZIP", new Uint8Array([0x50, 0x4b, 3, 4, 0x14, 0, 0, 0, 8, 0, 0x9d, 0xf1]), "encoding"],
    ["terminal output", utf8("\u001b[31m".repeat(20)), "content"],
  ])("refuses %s", (_, bytes, check) => {
    expect(decodeText(bytes)).toMatchObject({ check });
  });

  it("refuses random bytes and keeps any text that is not mostly control characters", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 200, maxLength: 400 }), (bytes) => {
        bytes[7] = 0xff;
        expect(decodeText(bytes)).toHaveProperty("check");
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const clean = `a${text.replaceAll(/\p{Cc}/gu, "")}`;
        expect(decodeText(utf8(clean))).toEqual({ text: clean });
      }),
    );
  });
});
