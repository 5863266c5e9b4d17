import { describe, expect, it } from "vitest";
import { unauthenticated } from "./authenticate.ts";
import type { Principal } from "./principal.ts";
import { createSessions } from "./sessions.ts";

const principal: Principal = { keyId: "abcdef123456", tenant: "acme", subject: "me", scopes: [] };

describe("createSessions", () => {
  let nowMs = 1000;
  const sessions = createSessions({
    authenticator: {
      byKey: (text) => {
        if (text !== "good") throw unauthenticated();
        return principal;
      },
      byId: async (keyId) => ({ ...principal, keyId }),
    },
    signer: { sign: (text) => `${text}!`, open: (text) => (text.endsWith("!") ? text.slice(0, -1) : undefined) },
    clock: { now: () => new Date(nowMs) },
    ttlMs: 500,
  });

  it("lasts until it expires", async () => {
    const { cookie, expiresAtMs } = await sessions.open("good");
    expect(expiresAtMs).toBe(1500);
    await expect(sessions.resume(cookie)).resolves.toEqual({ principal, expiresAtMs: 1500 });
    nowMs = 1500;
    await expect(sessions.resume(cookie)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    nowMs = 1000;
  });

  it("refuses a wrong key and a value that it did not sign", async () => {
    await expect(sessions.open("bad")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    const { cookie } = await sessions.open("good");
    for (const forged of [undefined, "", cookie.slice(0, -1), "nonsense!"]) {
      await expect(sessions.resume(forged)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
  });
});
