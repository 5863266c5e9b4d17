import type { Script } from "@drover/testkit/scripted-model";
import { found, seenIn } from "./seen.ts";

/** Finds the first error in the logs, follows the request id it names into the configuration, and answers with both. */
export const investigate: Script = (messages) => {
  const seen = seenIn(messages);
  const [errors, history] = seen.filter(({ tool }) => tool === "grep").map(({ text }) => text);
  if (errors === undefined)
    return { toolCalls: [{ name: "grep", arguments: { pattern: "ERROR", path: "/workspace/logs/**" } }] };
  const pool = found(/pool=(\w+)/, errors);
  if (history === undefined) {
    return {
      toolCalls: [
        { name: "grep", arguments: { pattern: pool, path: "/workspace/config/**" } },
        { name: "read_file", arguments: { path: "/workspace/changes.md" } },
      ],
    };
  }
  const size = found(/max_connections: (\d+)/, history);
  const change = found(/(CHG-\d+)/, seen.find(({ tool }) => tool === "read_file")?.text ?? "");
  const line = found(/(\S+\.log:\d+)/, errors);
  return {
    text: `Checkout failed because the pool ${pool} was cut to ${size} connections by ${change}. Evidence: ${line} and /workspace/config/pools.yaml.`,
  };
};
