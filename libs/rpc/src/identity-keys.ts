import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from "node:crypto";
import { calculateJwkThumbprint } from "jose";

/** A key pair as the environment holds it. */
export interface IdentityKeys {
  /** JWK as JSON text, for `DROVER_IDENTITY_PRIVATE_KEY`. */
  readonly privateKey: string;
  /** JWKS as JSON text with the one public key, for `DROVER_IDENTITY_PUBLIC_KEYS`. */
  readonly publicKeys: string;
}

/** A new Ed25519 key pair; the key's id is its RFC 7638 thumbprint. */
export async function generateIdentityKeys(): Promise<IdentityKeys> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { kty, crv, x, d } = privateKey.export({ format: "jwk" });
  if (kty === undefined || crv === undefined || x === undefined || d === undefined) {
    throw new TypeError("The key could not be exported.");
  }
  const named = { kty, crv, x, kid: await calculateJwkThumbprint({ kty, crv, x }), alg: "EdDSA", use: "sig" };
  return { privateKey: JSON.stringify({ ...named, d }), publicKeys: JSON.stringify({ keys: [named] }) };
}

/** The private key in a JWK text. Throws a TypeError that does not show the text. */
export function readPrivateKey(text: string): { readonly kid: string; readonly key: KeyObject } {
  const jwk = readJwk(parseJson(text));
  if (jwk.d === undefined) throw new TypeError("The identity key is not a private key.");
  return { kid: jwk.kid, key: createPrivateKey({ key: jwk, format: "jwk" }) };
}

/** The public keys in a JWKS text by id; several stand side by side while keys are exchanged. */
export function readPublicKeys(text: string): ReadonlyMap<string, KeyObject> {
  const set = parseJson(text);
  const listed: unknown = typeof set === "object" && set !== null && "keys" in set ? set.keys : undefined;
  if (!Array.isArray(listed) || listed.length === 0) {
    throw new TypeError("The identity keys are not a JWKS with at least one key.");
  }
  const keys = new Map<string, KeyObject>();
  for (const item of listed) {
    const { kty, crv, x, kid } = readJwk(item);
    keys.set(kid, createPublicKey({ key: { kty, crv, x }, format: "jwk" }));
  }
  return keys;
}

type Ed25519Jwk = JsonWebKey & {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
};

function readJwk(value: unknown): Ed25519Jwk {
  if (!isEd25519(value)) throw new TypeError("An identity key must be an Ed25519 JWK (kty OKP, crv Ed25519, x, kid).");
  return value;
}

function isEd25519(value: unknown): value is Ed25519Jwk {
  if (typeof value !== "object" || value === null) return false;
  const jwk: Readonly<Record<string, unknown>> = { ...value };
  return jwk.kty === "OKP" && jwk.crv === "Ed25519" && typeof jwk.x === "string" && typeof jwk.kid === "string";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError("The identity key is not JSON.");
  }
}
