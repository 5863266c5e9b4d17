import { expect, test } from "vitest";
import { logLines, queryOf, recordOf, ruleOf, spillOf } from "./payment-evidence.ts";

const rule = "Rule CAP-2: When a capture timed out and its webhook was dropped, ask the acquirer.";

test.each([
  ["Markdown", `1. runbook.md\n### Dropped\n\n${rule}\nMore.`],
  ["a path line", `OK: 1 passage\n[1] runbook.md > Captures > Dropped\n${rule}`],
  ["a path line with a score", `[1] runbook.md › Captures › Dropped (score 0.03)\n${rule}`],
  ["JSON, heading first", `{"heading_path":["Captures","Dropped"],"text":"${rule}"}`],
  ["JSON, heading last", `{"text":"${rule}","headingPath":["Captures","Dropped"]}`],
  ["a labelled line", `heading: Dropped\ntext: ${rule}`],
])("finds the rule and its heading in %s", (_, text) => {
  expect(ruleOf(text)).toEqual({ text: rule, heading: "Dropped" });
});

test("a rule about something else is not the rule", () => {
  expect(ruleOf("Rule CAP-1: A capture that timed out and whose webhook was applied needs nothing.")).toBeUndefined();
  expect(ruleOf("Rule HOOK-2: Dropped events can be replayed.")).toBeUndefined();
});

test("records are found between line numbers and by their order only", () => {
  const text =
    '  3\t{"order_id": "ORD-2024-0001", "n": 1},\n  4\t{"payment_id": "p", "order_id": "ORD-2024-0002", "x": null}';
  expect(Object.fromEntries(recordOf(text, "ORD-2024-0002") ?? [])).toEqual({
    payment_id: "p",
    order_id: "ORD-2024-0002",
    x: "null",
  });
  expect(recordOf(text, "ORD-2024-0003")).toBeUndefined();
});

test("log lines are read behind any prefix, once, and make a query", () => {
  const line = "2024-01-17T09:41:38.024Z ERROR capture    payment=p attempt=1 code=CAPTURE_TIMEOUT no answer";
  const lines = logLines(`153: ${line}\n/workspace/gateway.log:153: ${line}\n${line.replace("=p ", "=q ")}`, "=p ");
  expect(lines).toEqual([
    { time: "2024-01-17T09:41:38.024Z", component: "capture", code: "CAPTURE_TIMEOUT", text: line },
  ]);
  expect(queryOf(lines)).toBe("capture timeout");
});

test("a pointer is found with the size of the whole", () => {
  const note = "[Cut: these are the first 2,048 of 40,212 characters. The rest is stored at spill://c/k_1; read it]";
  expect(spillOf(note)).toEqual({ pointer: "spill://c/k_1", characters: 40_212 });
  expect(spillOf("whole")).toBeUndefined();
});
