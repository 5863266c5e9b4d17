import type { ModelReply, ModelRequest } from "@drover/model";
import { expect, test } from "vitest";
import { type ToolResult, toolFailure } from "../domain/tool-result.ts";
import { throughModel, throughTool } from "./middleware.ts";
import type { Middleware, MiddlewareContext } from "./middleware-ports.ts";

const context = {
  agent: "",
  note: () => undefined,
  signal: AbortSignal.timeout(60_000),
} as unknown as MiddlewareContext;
const call = { callId: "c", tool: "t", argumentsJson: "{}" };
const well: ToolResult = { ok: true, errorCode: "", summary: "ran", text: "", artifacts: [], retryable: false };

function noting(name: string, seen: string[]): Middleware {
  return {
    name,
    beforeModel: async (_context, request) => {
      seen.push(`${name} before`);
      return { ...request, model: `${request.model}${name}` };
    },
    afterModel: async () => void seen.push(`${name} after`),
    beforeTool: async () => void seen.push(`${name} before`),
    afterTool: async (_context, _call, result) => {
      seen.push(`${name} after`);
      return { ...result, summary: `${result.summary} ${name}` };
    },
  };
}

test("what stands before a question runs in order, what stands after it in the reverse", async () => {
  const seen: string[] = [];
  const chain = [noting("a", seen), noting("b", seen)];
  const request = { model: "m", messages: [] } as unknown as ModelRequest;
  const turn = await throughModel(chain, context, request, async ({ model }) => {
    seen.push(model ?? "");
    return { reply: {} as ModelReply };
  });
  expect(turn).toEqual({ reply: {} });
  expect(seen).toEqual(["a before", "b before", "mab", "b after", "a after"]);
});

test("what refuses a question keeps the model from being asked", async () => {
  const refusing: Middleware = { name: "no", beforeModel: () => Promise.reject(new Error("refused")) };
  const asked = throughModel([refusing], context, {} as ModelRequest, () => Promise.reject(new Error("asked")));
  await expect(asked).rejects.toThrow("refused");
});

test("a result in the place of a call keeps it from running, and passes all those after", async () => {
  const seen: string[] = [];
  const denying: Middleware = { name: "deny", beforeTool: async () => toolFailure("DENIED", "no") };
  const chain = [noting("a", seen), denying, noting("b", seen)];
  const result = await throughTool(chain, context, call, () => Promise.reject(new Error("ran")));
  expect(result).toMatchObject({ errorCode: "DENIED", summary: "no b a" });
  expect(seen).toEqual(["a before", "b after", "a after"]);
});

test.each([
  ["before", { beforeTool: () => Promise.reject(new Error("boom")) }, /^The call was not run: odd failed/],
  ["after", { afterTool: () => Promise.reject(new Error("boom")) }, /^The call was run, and its result is withheld/],
])("what fails %s a call becomes its result, which says whether it was run", async (_when, points, summary) => {
  const result = await throughTool([{ name: "odd", ...points }], context, call, async () => well);
  expect(result).toMatchObject({ ok: false, errorCode: "MIDDLEWARE_FAILED", summary: expect.stringMatching(summary) });
});

test("that an outcome is unknown stays known, whatever fails after it", async () => {
  const failing: Middleware = { name: "odd", afterTool: () => Promise.reject(new Error("boom")) };
  const unknown = toolFailure("OUTCOME_UNKNOWN", "who knows");
  expect(await throughTool([failing], context, call, async () => unknown)).toEqual(unknown);
});
