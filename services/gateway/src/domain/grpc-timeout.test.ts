import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cappedTimeout, cappedTimeoutHeader, formatGrpcTimeout, parseGrpcTimeout } from "./grpc-timeout.ts";

describe("grpc-timeout", () => {
  it("reads every unit", () => {
    expect(["2H", "3M", "4S", "5m", "6u", "7n"].map(parseGrpcTimeout)).toEqual([
      7_200_000,
      180_000,
      4000,
      5,
      6 * 1e-3,
      7 * 1e-6,
    ]);
    expect(parseGrpcTimeout(undefined)).toBeUndefined();
  });

  it.each(["", "5", "m", "-1S", "123456789S", "1s", "1 S", "1e3m"])("refuses %j and says what is allowed", (text) => {
    expect(() => parseGrpcTimeout(text)).toThrow(/grpc-timeout: found .*, allowed 1 to 8 digits/);
  });

  it("formats to something that is never shorter and is read back", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (ms) => {
        const back = parseGrpcTimeout(formatGrpcTimeout(ms));
        expect(back).toBeGreaterThanOrEqual(Math.min(ms, 99_999_999_000));
      }),
    );
  });

  it.each([
    ["grpc-timeout", "99999999H", "60S"],
    ["grpc-timeout", "61S", "60S"],
    ["grpc-timeout", "59S", "59S"],
    ["grpc-timeout", "soon", "soon"],
    ["connect-timeout-ms", "9999999999", "60000"],
    ["connect-timeout-ms", "60000", "60000"],
    ["connect-timeout-ms", "99999999999", "99999999999"],
    ["connect-timeout-ms", "-1", "-1"],
  ] as const)("keeps %s: %s within a minute: %s", (name, text, expected) => {
    const capped = cappedTimeoutHeader(name, text, 60_000);
    if (name === "grpc-timeout" && expected === "60S") expect(parseGrpcTimeout(capped)).toBe(60_000);
    else expect(capped).toBe(expected);
  });

  it("caps", () => {
    expect([cappedTimeout(undefined, 9), cappedTimeout(5, 9), cappedTimeout(50, 9)]).toEqual([9, 5, 9]);
  });
});
