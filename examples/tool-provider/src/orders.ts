/** A tool of this provider: what the model is told, and what it does. */
interface OrderTool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
  run(args: Readonly<Record<string, unknown>>, tenant: string): { readonly summary: string; readonly text: string };
}

const id = { type: "string", pattern: "^[A-Z]-[0-9]{1,6}$", description: "Number of an order, e.g. A-17." };
const schema = { type: "object", properties: { order: id }, required: ["order"], additionalProperties: false };

/** Orders that were refunded, by tenant and number. */
const refunded = new Set<string>();

/** The tools: one reads, one changes something. */
export const orderTools: readonly OrderTool[] = [
  {
    name: "get_order",
    description: "Reads an order: what was bought, what it cost and whether it was paid back.",
    schema,
    run({ order }, tenant) {
      const state = refunded.has(`${tenant}/${order}`) ? "refunded" : "paid";
      const text = JSON.stringify({ order, item: "kettle", price: "39.90 EUR", state });
      return { summary: `order ${order} is ${state}`, text };
    },
  },
  {
    name: "refund_order",
    description: "Pays an order back. Sent again under the same call it pays only once.",
    schema,
    run({ order }, tenant) {
      refunded.add(`${tenant}/${order}`);
      return { summary: `order ${order} is paid back`, text: "" };
    },
  },
];
