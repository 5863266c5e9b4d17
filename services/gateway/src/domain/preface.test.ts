import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prefaceLength, sniffProtocol } from "./preface.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const whole = bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

describe("sniffProtocol", () => {
  it("waits while the bytes fit and decides at the 24th", () => {
    for (let n = 0; n < prefaceLength; n++) expect(sniffProtocol(whole.subarray(0, n))).toBe("undecided");
    expect(sniffProtocol(whole)).toBe("http2");
    expect(sniffProtocol(bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04"))).toBe("http2");
  });

  it("takes HTTP/1 methods that begin like the preface for HTTP/1", () => {
    expect(sniffProtocol(bytes("PRINT / HTTP/1.1\r\n"))).toBe("http1");
    expect(sniffProtocol(bytes("P"))).toBe("undecided");
    expect(sniffProtocol(bytes("POST"))).toBe("http1");
    expect(sniffProtocol(bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"))).toBe("http1");
  });

  it("never goes back on a decision when more bytes come", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(prefaceLength), (noise, keep) => {
        const start = Uint8Array.of(...whole.subarray(0, keep), ...noise);
        let decided: string | undefined;
        for (let n = 0; n <= start.length; n++) {
          const now = sniffProtocol(start.subarray(0, n));
          if (decided !== undefined) expect(now).toBe(decided);
          else if (now !== "undecided") decided = now;
        }
      }),
    );
  });
});
