import type { Duration } from "@bufbuild/protobuf/wkt";
import { invalidField } from "@drover/kernel";

/**
 * A duration in milliseconds, with its fraction, so that a nanosecond is not taken for nothing; 0 where it is
 * absent. INVALID_ARGUMENT for what is no duration: a billion nanoseconds or more, or two signs.
 */
export function millisecondsOf(field: string, duration: Duration | undefined): number {
  if (duration === undefined) return 0;
  const { seconds, nanos } = duration;
  if (Math.abs(nanos) >= 1e9 || (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) {
    throw invalidField(field, `${seconds} s and ${nanos} ns`, "a duration with less than a billion ns, of one sign");
  }
  return Number(seconds) * 1000 + nanos / 1e6;
}
