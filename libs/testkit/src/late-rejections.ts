import { setImmediate as turn } from "node:timers/promises";
import { inspect } from "node:util";
import { afterAll } from "vitest";

/**
 * A set-up file of every test lane: a rejection that is handled only after the event loop has turned fails its test
 * file. In a service the same promise would have ended the process.
 */
const late: string[] = [];

process.on("rejectionHandled", (promise) => {
  promise.catch((reason: unknown) => late.push(inspect(reason)));
});

afterAll(async () => {
  await turn();
  const found = late.splice(0);
  if (found.length > 0) throw new Error(`${found.length} rejections were handled late:\n${found.join("\n")}`);
});
