import { describe, expect, it } from "vitest";
import { parseLastEventId } from "./event-cursor.ts";

describe("parseLastEventId", () => {
  it("begins at the start without one", () => {
    expect([undefined, "", " "].map(parseLastEventId)).toEqual([0n, 0n, 0n]);
  });

  it("reads a sequence exactly, also beyond the safe integers", () => {
    expect(parseLastEventId("17")).toBe(17n);
    expect(parseLastEventId("9007199254740993")).toBe(9007199254740993n);
  });

  it.each(["-1", "1.5", "abc", "1,2", "0x10", "9223372036854775808", "99999999999999999999", "１"])(
    "refuses %j with field, found and allowed",
    (text) => {
      expect(() => parseLastEventId(text)).toThrowError(
        expect.objectContaining({
          code: "INVALID_ARGUMENT",
          violations: [{ field: "Last-Event-ID", found: JSON.stringify(text), allowed: expect.any(String) }],
        }),
      );
    },
  );
});
