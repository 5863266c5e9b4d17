import { createHmac, timingSafeEqual } from "node:crypto";
import type { TextSigner } from "../application/ports.ts";

const signatureLength = 43;

/** Signs with HMAC-SHA-256; the signature stands after the last dot, in base64url. */
export function createTextSigner(secret: Uint8Array): TextSigner {
  const signatureOf = (text: string) => createHmac("sha256", secret).update(text).digest("base64url");
  return {
    sign: (text) => `${text}.${signatureOf(text)}`,
    open(signed) {
      const dot = signed.lastIndexOf(".");
      const given = Buffer.from(signed.slice(dot + 1));
      if (dot < 0 || given.length !== signatureLength) return undefined;
      const text = signed.slice(0, dot);
      return timingSafeEqual(given, Buffer.from(signatureOf(text))) ? text : undefined;
    },
  };
}
