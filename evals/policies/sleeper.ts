import type { Script } from "@drover/testkit/scripted-model";
import { seenIn } from "./seen.ts";

/** Starts a program that takes ten minutes, and tells what it was shown of it. */
export const sleeper: Script = (messages, tools) => {
  const seen = seenIn(messages);
  if (tools.length > 0 && seen.length === 0) {
    const code = "import time\nopen('/workspace/begun.txt', 'w').write('yes')\ntime.sleep(600)";
    return { toolCalls: [{ name: "run_code", arguments: { language: "python", code, timeout_seconds: 300 } }] };
  }
  return { text: `The program was still at work: ${seen[0]?.text.split("\n")[0]}` };
};
