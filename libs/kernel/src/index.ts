export { throwIfAborted, withTimeout } from "./abort.ts";
export { AsyncQueue } from "./async-queue.ts";
export { mapBounded } from "./bounded.ts";
export { type Clock, systemClock } from "./clock.ts";
export {
  DroverError,
  type ErrorCode,
  type ErrorOptions,
  type FieldViolation,
  invalidField,
  invalidFields,
  notFound,
} from "./errors.ts";
export { isId, newId } from "./ids.ts";
export { decodePageToken, encodePageToken, pageSize, pageSizes } from "./page-token.ts";
export { randomBytes } from "./random-bytes.ts";
export { sha256 } from "./sha256.ts";
export { headOf, storableText, tailOf } from "./text.ts";
