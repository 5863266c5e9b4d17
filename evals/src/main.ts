import { policies } from "../policies/index.ts";
import { readCases } from "./cases.ts";
import { checkOutcome } from "./check-outcome.ts";
import { runEvaluation } from "./run-evaluation.ts";
import { startTarget } from "./start-target.ts";

const wanted = process.argv.slice(2);
const cases = readCases().filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const width = Math.max(...cases.map(({ name }) => name.length), "evaluation".length);
const row = (cells: readonly string[]) =>
  process.stdout.write(
    `${[cells[0]?.padEnd(width), cells[1]?.padEnd(6), ...cells.slice(2).map((cell) => cell.padStart(7))].join("  ")}\n`,
  );

let failed = 0;
await using target = await startTarget();
row(["evaluation", "result", "rounds", "calls", "tokens", "ms"]);
for (const evaluation of cases) {
  const script = policies[evaluation.model];
  if (script !== undefined) target.model.use(script);
  const begun = performance.now();
  const outcome = await runEvaluation(target, evaluation);
  const faults = checkOutcome(evaluation, outcome);
  const figures = [outcome.rounds, outcome.toolCalls, outcome.tokens, Math.round(performance.now() - begun)];
  row([evaluation.name, faults.length === 0 ? "passed" : "FAILED", ...figures.map(String)]);
  for (const fault of faults) process.stdout.write(`  ${fault}\n`);
  if (faults.length > 0) failed++;
}
process.stdout.write(`${cases.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && cases.length > 0 ? 0 : 1;
