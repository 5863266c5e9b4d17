import type { DecisiveLines, FoundRule, LogLine } from "./payment-evidence.ts";

/** Everything that the answer is made of; all of it comes from tool results. */
export interface PaymentCase {
  readonly orderId: string;
  readonly order: ReadonlyMap<string, string>;
  readonly payment: ReadonlyMap<string, string>;
  readonly paymentId: string;
  readonly lines: readonly LogLine[];
  readonly decisive: { readonly [K in keyof DecisiveLines]: LogLine };
  readonly rule: FoundRule;
  /** The tool that the log lines came from. */
  readonly logTool: string;
}

/** The final answer with its evidence. */
export function paymentAnswer(found: PaymentCase): string {
  const { orderId, paymentId, decisive, rule, payment, order } = found;
  const event = /\bevent=(\S+)/.exec(decisive.dropped.text)?.[1];
  const underHeading = rule.heading === undefined ? "" : ` under "${rule.heading}"`;
  return [
    `${orderId} is stuck in payment pending because the capture of its payment ${paymentId} timed out and the webhook that would have confirmed it was dropped.`,
    "",
    "What happened:",
    `1. ${decisive.timeout.time}: the capture got no answer in time (${decisive.timeout.code}).`,
    `2. ${decisive.dropped.time}: the webhook${event === undefined ? "" : ` ${event}`} about the capture was dropped (${decisive.dropped.code}).`,
    ...later(found).map(
      (line, index) =>
        `${index + 3}. ${line.time}: ${line.text.slice(line.text.indexOf(paymentId) + paymentId.length).trim()}.`,
    ),
    "",
    `What to do, by the runbook${underHeading}: ${rule.text}`,
    "",
    "Evidence:",
    `- orders.json: ${orderId} has the status ${order.get("status")}`,
    `- payments.json: ${paymentId} belongs to ${orderId}, status ${payment.get("status")}, captured_at ${payment.get("captured_at")}`,
    `- gateway.log (${found.logTool}): ${decisive.timeout.text}`,
    `- gateway.log (${found.logTool}): ${decisive.dropped.text}`,
    `- runbook${underHeading}: ${rule.text.split(":")[0]}`,
  ].join("\n");
}

/** What the log says about the payment after the webhook was dropped. */
function later(found: PaymentCase): readonly LogLine[] {
  return found.lines.filter((line) => line.time > found.decisive.dropped.time);
}

/** The honest answer when something needed was not in any tool result. */
export function notFoundAnswer(what: string, seen: string): string {
  const words = seen.replaceAll(/\s+/g, " ").trim();
  return `I could not find ${what}. ${words === "" ? "No tool result spoke about it." : `The last result was: ${words.slice(0, 300)}`}`;
}
