import { notFoundAnswer, type PaymentCase, paymentAnswer } from "./payment-answer.ts";
import { decisiveLines, logLines, queryOf, recordOf, ruleOf, spillOf } from "./payment-evidence.ts";
import { type Script, type ScriptedCall, type ScriptedTurn, textOf, type WireMessage } from "./script.ts";
import { type MadeCall, madeCalls } from "./tool-history.ts";

const files = { orders: "/workspace/orders.json", payments: "/workspace/payments.json", log: "/workspace/gateway.log" };
/** How much of a spilled log is read from its end. */
const tailCharacters = 4_000;

/**
 * Finds out why an order is stuck in payment pending, like a model would: it reads the files, runs a
 * program over the log for the payment it found, looks up the rule for the codes that the program
 * printed, and answers with the evidence. Each step is decided from the results so far; what they do
 * not contain it does not know, and then it says so in an answer that begins "I could not find".
 */
export const paymentPendingScript: Script = (messages, tools) => {
  const asked = messages.findLastIndex((message) => message.role === "user" && orderIn(message) !== undefined);
  const orderId = asked < 0 ? undefined : orderIn(messages[asked]);
  if (orderId === undefined) return { text: notFoundAnswer("an order number such as ORD-2024-0001 in the task", "") };
  const offered = new Set(tools.map((tool) => tool.function.name));
  return nextTurn(orderId, new Calls(madeCalls(messages, asked), offered));
};

function orderIn(message: WireMessage | undefined): string | undefined {
  return message === undefined ? undefined : /\bORD-\d{4}-\d{4}\b/.exec(textOf(message))?.[0];
}

/** The calls so far, and which can be made. */
class Calls {
  readonly #made: readonly MadeCall[];
  readonly #offered: ReadonlySet<string>;

  constructor(made: readonly MadeCall[], offered: ReadonlySet<string>) {
    this.#made = made;
    this.#offered = offered;
  }

  /** True for a tool that is on offer and was not called yet. */
  canTry(name: string): boolean {
    return this.#offered.has(name) && this.of(name).length === 0;
  }

  of(name: string): readonly MadeCall[] {
    return this.#made.filter((call) => call.name === name);
  }

  /** What reading this file gave, or undefined when it was not read. */
  read(path: string): MadeCall | undefined {
    return this.of("read_file").findLast((call) => call.arguments.path === path);
  }

  get last(): string {
    return this.#made.at(-1)?.result ?? "";
  }
}

function nextTurn(orderId: string, calls: Calls): ScriptedTurn {
  if (calls.canTry("read_file")) {
    return {
      text: `I will look at the order, at its payment and at the gateway's log for ${orderId}.`,
      toolCalls: Object.values(files).map((path) => ({ name: "read_file", arguments: { path } })),
    };
  }
  const order = recordOf(calls.read(files.orders)?.result ?? "", orderId);
  if (order === undefined)
    return { text: notFoundAnswer(`${orderId} in ${files.orders}`, calls.read(files.orders)?.result ?? "") };
  const payment = recordOf(calls.read(files.payments)?.result ?? "", orderId);
  const paymentId = payment?.get("payment_id");
  if (payment === undefined || paymentId === undefined) {
    return {
      text: notFoundAnswer(`a payment of ${orderId} in ${files.payments}`, calls.read(files.payments)?.result ?? ""),
    };
  }
  return afterPayment({ orderId, order, payment, paymentId }, calls);
}

function afterPayment(
  found: Pick<PaymentCase, "orderId" | "order" | "payment" | "paymentId">,
  calls: Calls,
): ScriptedTurn {
  const { paymentId } = found;
  if (calls.canTry("run_code")) {
    return {
      text: `The payment of ${found.orderId} is ${paymentId}. The log is long, so I filter it with a program.`,
      toolCalls: [filterProgram(paymentId), ...tailOfLog(calls)],
    };
  }
  const filtered = calls.of("run_code").findLast((call) => logLines(call.result, paymentId).length > 0);
  if (filtered === undefined && calls.canTry("grep")) {
    return {
      text: "The program gave no line of the payment; I search the log without it.",
      toolCalls: [{ name: "grep", arguments: { pattern: paymentId, path: files.log } }],
    };
  }
  const source = filtered ?? calls.of("grep").at(-1);
  const lines = logLines(source?.result ?? "", paymentId);
  const { timeout, dropped } = decisiveLines(lines);
  if (timeout === undefined)
    return { text: notFoundAnswer(`a capture of ${paymentId} that timed out in ${files.log}`, calls.last) };
  if (dropped === undefined)
    return { text: notFoundAnswer(`a dropped webhook of ${paymentId} in ${files.log}`, calls.last) };
  if (calls.canTry("search_documents")) {
    const query = queryOf([dropped, timeout]);
    return {
      text: `The log shows ${timeout.code} and ${dropped.code}. I look up what the documents say about that.`,
      toolCalls: [{ name: "search_documents", arguments: { query, limit: 5 } }],
    };
  }
  const rule = ruleOf(calls.of("search_documents").at(-1)?.result ?? "");
  if (rule === undefined)
    return { text: notFoundAnswer("a rule for a capture that timed out and a dropped webhook", calls.last) };
  const logTool = source?.name ?? "run_code";
  return { text: paymentAnswer({ ...found, lines, decisive: { timeout, dropped }, rule, logTool }) };
}

function filterProgram(paymentId: string): ScriptedCall {
  const code = `import collections
import re

payment = ${JSON.stringify(paymentId)}
codes = collections.Counter()
total = 0
with open(${JSON.stringify(files.log)}, encoding="utf-8") as log:
    for number, line in enumerate(log, 1):
        total = number
        if payment in line:
            print(f"{number}: {line.rstrip()}")
            codes.update(re.findall(r"code=([A-Z_]+)", line))
print(f"{total} lines read, codes of {payment}: {dict(codes)}")
`;
  return { name: "run_code", arguments: { language: "python", code } };
}

/** When the log came back as a pointer: one call that reads its end, beside the program. */
function tailOfLog(calls: Calls): readonly ScriptedCall[] {
  const spill = spillOf(calls.read(files.log)?.result ?? "");
  if (spill === undefined || !calls.canTry("read_spill")) return [];
  const offset = Math.max(0, spill.characters - tailCharacters);
  return [{ name: "read_spill", arguments: { pointer: spill.pointer, offset, length: tailCharacters } }];
}
