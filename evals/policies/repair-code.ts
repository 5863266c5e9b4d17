import type { Script } from "@drover/testkit/scripted-model";
import { seenIn } from "./seen.ts";

const tests = {
  name: "run_code",
  arguments: { language: "python", code: "import unittest\nunittest.main('test_price', exit=True)" },
};

/** Runs the tests, reads what fails, corrects it, and runs the tests again before it says that it is done. */
export const repairCode: Script = (messages) => {
  const seen = seenIn(messages);
  const runs = seen.filter(({ tool }) => tool === "run_code").map(({ text }) => text);
  if (runs.length === 0) return { toolCalls: [tests] };
  if (runs.at(-1)?.startsWith("OK"))
    return { text: "The discount was added instead of taken off; the tests pass now." };
  if (!seen.some(({ tool }) => tool === "read_file")) {
    return { toolCalls: [{ name: "read_file", arguments: { path: "/workspace/price.py" } }] };
  }
  if (!seen.some(({ tool }) => tool === "edit_file")) {
    const edit = { path: "/workspace/price.py", old_text: "amount + amount", new_text: "amount - amount" };
    return { toolCalls: [{ name: "edit_file", arguments: edit }] };
  }
  return runs.length < 2 ? { toolCalls: [tests] } : { text: "The tests still fail." };
};
