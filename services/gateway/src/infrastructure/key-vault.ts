import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { DroverError } from "@drover/kernel";
import type { KeyVault } from "../application/ports.ts";

/** Digests with the server's pepper where there is one, else plain SHA-256 of the 256 random bits. */
export function createKeyVault(pepper: string | undefined): KeyVault {
  return {
    digestKind: pepper === undefined ? "sha256" : "hmac-sha256",
    digest(kind, id, secret) {
      const text = `${id}.${secret}`;
      if (kind === "sha256") return createHash("sha256").update(text).digest();
      if (pepper === undefined) {
        throw new DroverError("FAILED_PRECONDITION", "DROVER_KEY_PEPPER is not set, and this key was stored with one.");
      }
      return createHmac("sha256", pepper).update(text).digest();
    },
    equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
    generate: () => ({ id: randomId(), secret: randomBytes(32).toString("base64url") }),
  };
}

/** 12 of a-z and 2-7: 60 random bits. */
function randomId(): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(randomBytes(12), (byte) => alphabet[byte & 31]).join("");
}
