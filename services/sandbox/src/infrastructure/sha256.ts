import { createHash } from "node:crypto";
import type { Digest } from "../application/ports.ts";

/** SHA-256 in lower-case hex. */
export const sha256: Digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
