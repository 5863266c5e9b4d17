import type { Script } from "@drover/testkit/scripted-model";
import { found, seenIn } from "./seen.ts";

const program = `import csv, json
totals = {}
for row in csv.DictReader(open("/workspace/sales.csv")):
    totals[row["region"]] = totals.get(row["region"], 0) + int(row["units"]) * int(row["price"])
best = max(totals, key=totals.get)
json.dump(totals, open("/workspace/totals.json", "w"), sort_keys=True)
print("BEST", best, totals[best])`;

/** Looks at the data, computes with a program, and answers with what the program printed. */
export const analyseSales: Script = (messages) => {
  const seen = seenIn(messages);
  if (seen.length === 0) return { toolCalls: [{ name: "read_file", arguments: { path: "/workspace/sales.csv" } }] };
  const printed = seen.find(({ tool }) => tool === "run_code")?.text;
  if (printed === undefined)
    return { toolCalls: [{ name: "run_code", arguments: { language: "python", code: program } }] };
  const best = found(/BEST (.+)/, printed);
  if (best === "") return { text: `The program failed: ${printed}` };
  const [region, total] = best.split(" ");
  return {
    text: `The region with the most revenue is ${region}, with ${total}. All totals are in /workspace/totals.json.`,
  };
};
