import { createHmac } from "node:crypto";
import fc from "fast-check";
import { importJWK, SignJWT } from "jose";
import { expect, test } from "vitest";
import type { Caller } from "./caller.ts";
import { generateIdentityKeys } from "./identity-keys.ts";
import { createIdentityMinter } from "./identity-minter.ts";
import { createIdentityVerifier } from "./identity-verifier.ts";

const ada: Caller = { tenant: "t1", subject: "ada", scopes: ["a:read", "b:write"], taskId: "task-1" };
const keys = await generateIdentityKeys();
const other = await generateIdentityKeys();

/** A clock that a test moves. */
function clockAt(startMs: number) {
  let nowMs = startMs;
  return {
    now: () => new Date(nowMs),
    advance(ms: number) {
      nowMs += ms;
    },
  };
}

function pair(nowMs = Date.now()) {
  const clock = clockAt(nowMs);
  return {
    clock,
    minter: createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway", clock }),
    verifier: createIdentityVerifier({ publicKeys: keys.publicKeys, audience: "sandbox", clock }),
  };
}

/** A token signed with the right key over whatever claims and header. */
async function signed(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
  const jwk = JSON.parse(keys.privateKey);
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: "x", aud: "sandbox", sub: "ada", tenant: "t1", scopes: [], iat: now, exp: now + 60, ...claims };
  const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return await new SignJWT(kept)
    .setProtectedHeader({ alg: "EdDSA", kid: jwk.kid, ...header })
    .sign(await importJWK(jwk, "EdDSA"));
}

function unsigned(header: object, claims: object, signature: (input: string) => string): string {
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${input}.${signature(input)}`;
}

async function refusal(token: string): Promise<string> {
  const { verifier } = pair();
  const error: unknown = await Promise.resolve()
    .then(() => verifier.verify(token))
    .catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "UNAUTHENTICATED" });
  return error instanceof Error ? error.message : "";
}

test("a caller comes out as it went in", async () => {
  const { minter, verifier } = pair();
  expect(await verifier.verify(await minter.mint(ada, "sandbox"))).toEqual(ada);
  const plain = { tenant: "t2", subject: "bob", scopes: [] };
  expect(await verifier.verify(await minter.mint(plain, "sandbox"))).toEqual(plain);
});

test("tokens are cached per caller and audience, and renewed 10 s before they expire", async () => {
  const { minter, clock } = pair();
  const first = await minter.mint(ada, "sandbox");
  expect(minter.mint({ ...ada }, "sandbox")).toBe(first);
  expect(await minter.mint(ada, "memory")).not.toBe(first);
  expect(await minter.mint({ ...ada, tenant: "t2" }, "sandbox")).not.toBe(first);
  expect(await minter.mint({ ...ada, scopes: ["a:read"] }, "sandbox")).not.toBe(first);
  clock.advance(49_999);
  expect(minter.mint(ada, "sandbox")).toBe(first);
  clock.advance(1);
  expect(await minter.mint(ada, "sandbox")).not.toBe(first);
});

test("a verified token is known until it expires, and not after", async () => {
  const { minter, verifier, clock } = pair();
  const token = await minter.mint(ada, "sandbox");
  const caller = await verifier.verify(token);
  expect(verifier.verify(token)).toBe(caller);
  clock.advance(66_000);
  await expect(verifier.verify(token)).rejects.toThrow("it has expired");
});

test("a token that claims a longer life is known for the minter's lifetime only", async () => {
  const { verifier, clock } = pair();
  const token = await signed({ exp: Math.floor(Date.now() / 1000) + 86_400 });
  await verifier.verify(token);
  clock.advance(67_000);
  await expect(verifier.verify(token)).rejects.toThrow("it has expired");
});

test("wrong audience, lifetime, algorithm, key and claims are refused", async () => {
  expect(await refusal(await signed({ aud: "memory" }))).toContain('"aud"');
  expect(await refusal(await signed({ exp: Math.floor(Date.now() / 1000) - 60 }))).toContain("expired");
  expect(await refusal(await signed({ nbf: Math.floor(Date.now() / 1000) + 600 }))).toContain('"nbf"');
  expect(await refusal(await signed({ aud: ["sandbox", "memory"] }))).toContain('"aud"');
  expect(await refusal(await signed({ iat: Math.floor(Date.now() / 1000) + 600 }))).toContain('"iat"');
  const old = Math.floor(Date.now() / 1000) - 120;
  expect(await refusal(await signed({ iat: old, exp: old + 86_400 }))).toContain("expired");
  expect(await refusal(await signed({}, { kid: "../../etc/passwd" }))).toContain("key is not known");
  expect(await refusal(await signed({}, { kid: undefined }))).toContain("key is not known");
  for (const claim of ["iss", "sub", "exp", "iat", "tenant", "scopes", "aud"]) {
    expect(await refusal(await signed({ [claim]: undefined }))).toContain(claim);
  }
  for (const claims of [{ tenant: 7 }, { tenant: "" }, { scopes: "a:read" }, { scopes: [1] }, { task: {} }]) {
    await refusal(await signed(claims));
  }
});

test("alg none and HS256 over the public key are refused", async () => {
  const { kid, x } = JSON.parse(keys.publicKeys).keys[0];
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: "x", aud: "sandbox", sub: "a", tenant: "t", scopes: [], iat: now, exp: now + 60 };
  await refusal(unsigned({ alg: "none", kid }, claims, () => ""));
  const hmac = (input: string) => createHmac("sha256", Buffer.from(x, "base64url")).update(input).digest("base64url");
  expect(await refusal(unsigned({ alg: "HS256", kid }, claims, hmac))).toContain("algorithm");
});

test("a token of a stranger, and any change to a good one, is refused", async () => {
  const stranger = createIdentityMinter({ privateKey: other.privateKey, issuer: "gateway" });
  await refusal(await stranger.mint(ada, "sandbox"));
  const token = await pair().minter.mint(ada, "sandbox");
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: token.length - 2 }),
      fc.constantFrom("A", "z", ".", "_", "\n"),
      async (at, letter) => {
        fc.pre(token[at] !== letter);
        await refusal(token.slice(0, at) + letter + token.slice(at + 1));
      },
    ),
    { numRuns: 50 },
  );
  await refusal("x".repeat(5000));
  await refusal("");
});

test("two keys stand side by side while one replaces the other", async () => {
  const both = JSON.stringify({ keys: [...JSON.parse(keys.publicKeys).keys, ...JSON.parse(other.publicKeys).keys] });
  const verifier = createIdentityVerifier({ publicKeys: both, audience: "sandbox" });
  for (const { privateKey } of [keys, other]) {
    const minter = createIdentityMinter({ privateKey, issuer: "gateway" });
    expect(await verifier.verify(await minter.mint(ada, "sandbox"))).toEqual(ada);
  }
});

test("keys that do not fit stop the process without being shown", () => {
  for (const bad of ["", "{", '{"keys":[]}', '{"keys":[{"kty":"oct","k":"c2VjcmV0LXNlY3JldA","kid":"1"}]}']) {
    expect(() => createIdentityVerifier({ publicKeys: bad, audience: "x" })).toThrow(TypeError);
  }
  const publicOnly = JSON.stringify(JSON.parse(keys.publicKeys).keys[0]);
  expect(() => createIdentityMinter({ privateKey: publicOnly, issuer: "x" })).toThrow("not a private key");
});
