/**
 * Sums the runner's JSON reports in .reports/ into the one line `N passed, N failed`. A run whose
 * exit status (first argument) is not 0 counts at least one failure, so that a broken build can never
 * look green.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../.reports");
const status = Number(process.argv[2] ?? 0);

let passed = 0;
let failed = 0;
for (const name of readdirSync(folder).filter((file) => file.endsWith(".json"))) {
  const report: { numPassedTests: number; numFailedTests: number; numFailedTestSuites: number } = JSON.parse(
    readFileSync(join(folder, name), "utf8"),
  );
  passed += report.numPassedTests;
  failed += report.numFailedTests;
}
if (status !== 0 && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
