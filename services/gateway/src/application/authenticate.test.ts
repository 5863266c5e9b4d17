import { DroverError } from "@drover/kernel";
import { beforeEach, describe, expect, it } from "vitest";
import { type ApiKey, formatApiKey } from "../domain/api-key.ts";
import { type Authenticator, createAuthenticator } from "./authenticate.ts";
import type { KeyStore, KeyVault } from "./ports.ts";

const id = "abcdef123456";
const secret = "s".repeat(43);
const text = formatApiKey({ id, secret });

const vault: KeyVault = {
  digestKind: "sha256",
  digest: (kind, key, value) => new TextEncoder().encode(`${kind}:${key}:${value}`),
  equal: (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]),
  generate: () => ({ id, secret }),
};

const stored: ApiKey = {
  id,
  tenant: "acme",
  subject: "key:ci",
  scopes: ["*"],
  digest: vault.digest("sha256", id, secret),
  digestKind: "sha256",
  revokedAt: undefined,
};

async function refusal(authenticator: Authenticator, presented: string | undefined): Promise<unknown> {
  try {
    return await authenticator.byKey(presented);
  } catch (error) {
    return error;
  }
}

describe("createAuthenticator", () => {
  let nowMs = 0;
  let rows: ApiKey[] = [];
  let finds = 0;
  let touches = 0;
  let broken = false;
  const keys: Pick<KeyStore, "find" | "touch"> = {
    async find(wanted) {
      finds++;
      if (broken) throw new DroverError("UNAVAILABLE", "The database does not answer.");
      return rows.find((row) => row.id === wanted);
    },
    async touch() {
      touches++;
    },
  };
  const make = () =>
    createAuthenticator({
      keys: keys as KeyStore,
      vault,
      clock: { now: () => new Date(nowMs), monotonicMs: () => nowMs },
      scopes: ["tasks:read", "tasks:write"],
      cacheMs: 5000,
      staleMs: 60_000,
      onTouchFailed: () => {},
    });

  beforeEach(() => {
    [nowMs, finds, touches, broken, rows] = [0, 0, 0, false, [stored]];
  });

  it("knows the caller, with the star expanded", async () => {
    expect(await make().byKey(text)).toEqual({
      keyId: id,
      tenant: "acme",
      subject: "key:ci",
      scopes: ["tasks:read", "tasks:write"],
    });
  });

  it("answers at once from its cache and reads again when it is old", async () => {
    const authenticator = make();
    await Promise.all([authenticator.byKey(text), authenticator.byKey(text)]);
    expect(finds).toBe(1);
    expect(authenticator.byKey(text)).not.toBeInstanceOf(Promise);
    nowMs = 5000;
    await authenticator.byKey(text);
    expect([finds, touches]).toEqual([2, 1]);
    nowMs = 60_000;
    await authenticator.byKey(text);
    expect(touches).toBe(2);
  });

  it("refuses no key, garbage, an unknown id, a wrong secret and a revoked key in the same words", async () => {
    const authenticator = make();
    const refusals: unknown[] = [];
    const wrong = formatApiKey({ id, secret: "x".repeat(43) });
    const unknown = formatApiKey({ id: "unknown00000", secret });
    for (const presented of [undefined, "garbage", unknown, wrong]) {
      refusals.push(await refusal(authenticator, presented));
    }
    rows = [{ ...stored, revokedAt: new Date(1) }];
    nowMs = 6000;
    refusals.push(await refusal(authenticator, text));
    for (const answer of refusals) {
      expect(answer).toMatchObject({ code: "UNAUTHENTICATED", message: (refusals[0] as Error).message });
    }
    expect((refusals[0] as Error).message).toContain("authorization: Bearer");
  });

  it("ends the sessions of a revoked key", async () => {
    const authenticator = make();
    await expect(authenticator.byId(id)).resolves.toMatchObject({ tenant: "acme" });
    rows = [{ ...stored, revokedAt: new Date(1) }];
    nowMs = 6000;
    await expect(authenticator.byId(id)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  it("believes a key a bounded time longer while the database is away", async () => {
    const authenticator = make();
    await authenticator.byKey(text);
    broken = true;
    nowMs = 64_999;
    await expect(authenticator.byKey(text)).resolves.toMatchObject({ tenant: "acme" });
    nowMs = 65_000;
    await expect(authenticator.byKey(text)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
