export { hasRedactionMark } from "./mark.ts";
export { type Redaction, redact } from "./redact.ts";
