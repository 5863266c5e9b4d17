import { invalidField } from "@drover/kernel";

/**
 * The sequence in a `Last-Event-ID` header: events with a greater one are sent. Absent or empty
 * (what a browser sends before its first event) is 0. INVALID_ARGUMENT for anything but a whole number.
 */
export function parseLastEventId(header: string | undefined): bigint {
  const text = header?.trim() ?? "";
  if (text === "") return 0n;
  const sequence = /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  if (sequence === undefined || sequence > 0x7fffffffffffffffn) {
    throw invalidField("Last-Event-ID", JSON.stringify(text.slice(0, 40)), "the id of an event of this task, or 0");
  }
  return sequence;
}
