import { sha256 } from "@drover/kernel";

/** SHA-256 of a text's UTF-8, lower-case hex. */
export const digest = sha256;
