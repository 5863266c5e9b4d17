import { hash } from "node:crypto";

/** SHA-256 of a text's UTF-8, lower-case hex. Computed at once: a thread of its own costs more than a short text. */
export function sha256(text: string): string {
  return hash("sha256", text);
}
