import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTraceparent, isSpanId, isTraceId, newSpanId, newTraceContext, parseTraceparent } from "./context.ts";

const context = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

describe("traceparent", () => {
  it("is read and written as W3C Trace Context says", () => {
    expect(formatTraceparent(context)).toBe("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    expect(parseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")).toEqual(context);
  });

  it("accepts more fields of a later version, not of version 00", () => {
    const fields = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    expect(parseTraceparent(`cc-${fields}-what-ever`)).toEqual(context);
    expect(parseTraceparent(`00-${fields}-what-ever`)).toBeUndefined();
  });

  it.each([
    ["an empty header", ""],
    ["version ff", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    ["upper case", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"],
    ["a trace id of zeros", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
    ["a span id of zeros", `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01`],
    ["a short trace id", "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01"],
  ])("starts a new trace for %s", (_, header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  it("never throws", () => {
    fc.assert(fc.property(fc.string(), (header) => parseTraceparent(header) === undefined));
  });
});

it("new ids are valid and differ", () => {
  const made = Array.from({ length: 100 }, () => newTraceContext());
  expect(made.every(({ traceId, spanId }) => isTraceId(traceId) && isSpanId(spanId))).toBe(true);
  expect(new Set(made.map(({ traceId }) => traceId)).size).toBe(100);
  expect(isSpanId(newSpanId())).toBe(true);
});
