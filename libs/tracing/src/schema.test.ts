import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { attr, eventKinds, spanKinds } from "./schema.ts";

const page = readFileSync(new URL("../../../docs/events.md", import.meta.url), "utf8");

/** First cells of the table under a heading, without their back-ticks. */
function namesUnder(heading: string): string[] {
  const section = page.split(`### ${heading}\n`)[1]?.split("\n#")[0] ?? "";
  return [...section.matchAll(/^\| `([^`]+)` +\|/gm)].map((match) => match[1] ?? "");
}

it("docs/events.md lists every span kind, event kind and attribute, and no other", () => {
  expect(namesUnder("Span kinds").sort()).toEqual([...spanKinds].sort());
  expect(namesUnder("Event kinds").sort()).toEqual([...eventKinds].sort());
  expect(namesUnder("Attributes").sort()).toEqual(Object.values(attr).sort());
});

it("keys are either semantic conventions or the product's own", () => {
  for (const key of Object.values(attr)) expect(key).toMatch(/^(gen_ai|drover)\.[a-z0-9_.]+$/);
});
