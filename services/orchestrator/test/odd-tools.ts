import { setTimeout as delay } from "node:timers/promises";
import { DroverError } from "@drover/kernel";
import type { TaskStore } from "../src/application/ports.ts";
import type { Tool } from "../src/application/tool-ports.ts";
import type { ToolResult } from "../src/domain/tool-result.ts";
import { createToolBox } from "../src/infrastructure/tools/tool-box.ts";
import type { SharedParts } from "../src/wiring.ts";

/** A result that says `summary`. */
export function well(summary: string, text = ""): ToolResult {
  return { ok: true, errorCode: "", summary, text, artifacts: [], retryable: false };
}

/** A tool without arguments. */
export function tool(name: string, fields: Partial<Tool> & Pick<Tool, "execute">): Tool {
  const parameters = { type: "object", properties: {}, additionalProperties: true };
  return { spec: { name, description: `Does ${name}.`, parameters }, timeoutMs: 10_000, replay: "safe", ...fields };
}

/** A replica whose tools are these; the first commit of results of a task is lost with its worker where `lossy` says so. */
export function withTools(tools: readonly Tool[], lossy = false): SharedParts {
  let lost = !lossy;
  const losing = (store: TaskStore): TaskStore => ({
    ...store,
    commit: (claim, version, change) => {
      if (lost || change.results === undefined) return store.commit(claim, version, change);
      lost = true;
      return Promise.reject(new DroverError("UNAVAILABLE", "The database is not available."));
    },
  });
  const intercept: SharedParts["intercept"] = ({ store, signals }) => ({ store: losing(store), signals });
  return { outside: { tools: createToolBox(tools) }, intercept };
}

/** Tools that misbehave, each in its own way. */
export const oddTools: readonly Tool[] = [
  tool("throws", { execute: () => Promise.reject(new TypeError("cannot read properties of undefined")) }),
  tool("throws_at_once", {
    execute: () => {
      throw new Error("before any promise");
    },
  }),
  tool("hangs", { timeoutMs: 200, execute: (_args, _context, signal) => delay(600_000, well("never"), { signal }) }),
  tool("floods", { execute: async () => well("a lot", "0123456789".repeat(10_000_000)) }),
  tool("rubbish", { execute: async () => well("bin\u0000ary", "\u0000\uD800\uFFFE\u0007\u001B[31m".repeat(100)) }),
  tool("nothing", { execute: async () => undefined as unknown as ToolResult }),
  tool("half", { execute: async () => ({ ok: "yes", text: 7n }) as unknown as ToolResult }),
  tool("works", { execute: async () => well("fine") }),
];
