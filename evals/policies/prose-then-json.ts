import type { Script } from "@drover/testkit/scripted-model";
import { lastUserText } from "./seen.ts";

/** Answers in prose, and as it was asked to only when it is told what is wrong. */
export const proseThenJson: Script = (messages) => {
  const told = lastUserText(messages);
  if (told.includes("NOT_JSON")) return { text: '{"severity": "very high", "summary": "Checkout is down."}' };
  if (told.includes("SCHEMA_MISMATCH")) return { text: '{"severity": "high", "summary": "Checkout is down."}' };
  return { text: "Checkout is down, which is severe." };
};
