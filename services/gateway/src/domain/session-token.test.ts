import { describe, expect, it } from "vitest";
import { decodeClaims, encodeClaims, sessionIn, setCookie } from "./session-token.ts";

describe("a session", () => {
  it("is read back", () => {
    const claims = { keyId: "abcdef123456", expiresAtMs: 1_800_000_000_000 };
    expect(decodeClaims(encodeClaims(claims))).toEqual(claims);
  });

  it.each(["", "1.x.5", "2.abcdef123456.5", "1.abcdef123456.", "1.abcdef123456.5.6"])("is not %j", (text) => {
    expect(decodeClaims(text)).toBeUndefined();
  });

  it("is found among other cookies by its whole name", () => {
    expect(sessionIn("a=1; drover_session=v.w; b=2")).toBe("v.w");
    expect(sessionIn("xdrover_session=v; drover_sessionx=w")).toBeUndefined();
    expect(sessionIn(undefined)).toBeUndefined();
  });

  it("is kept from scripts and other sites", () => {
    expect(setCookie("v", 60, true)).toBe("drover_session=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure");
    expect(setCookie("", -5, false)).toMatch(/Max-Age=0$/);
  });
});
