import { newId, systemClock } from "@drover/kernel";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Policy } from "../domain/policy.ts";
import { toolFailure } from "../domain/tool-result.ts";
import { gateCalls } from "./gate-calls.ts";
import type { Intent } from "./ports.ts";
import type { ToolBox } from "./tool-ports.ts";

const tools: ToolBox = {
  specs: [],
  polling: new Set(),
  resolve: (name, text) =>
    name === "unknown"
      ? { refused: toolFailure("UNKNOWN_TOOL", "no") }
      : { tool: {} as never, args: JSON.parse(text) as Record<string, unknown> },
};
const parts = { tools, clock: systemClock, maxCalls: 4 };

function intentOf(tool: string, ordinal: number): Intent {
  return {
    ...{ callId: newId(), stepSeq: 2, ordinal, providerCallId: "", tool, arguments: "{}", argumentsHash: "h" },
    ...{ argumentsPreview: "{}", policyEffect: "allow", policyRule: "", allowedCommands: [] },
  };
}

function rule(effect: Policy["effect"]): Policy {
  return {
    ...{ name: effect, priority: 0, effect, agent: "", tool: "*", conditions: [], reason: "", expiresMs: 1_000 },
    ...{ approverNotRequester: false, allowedCommands: effect === "allow" ? ["git"] : [], askIfUnknown: false },
  };
}

const judge = ({ tool }: { readonly tool: string }) => {
  if (tool === "throws") throw new RangeError("too deep");
  return tool === "allow" || tool === "ask" || tool === "deny" ? rule(tool) : undefined;
};

test("every call is proposed, denied with its result, or waits; one that waits holds up the whole batch", () => {
  const names = fc.constantFrom("allow", "ask", "deny", "none", "unknown", "throws");
  fc.assert(
    fc.property(fc.array(names, { minLength: 1, maxLength: 6 }), (batch) => {
      const intents = batch.map(intentOf);
      const change = gateCalls(parts, { agent: "", offered: [], judge }, intents);
      expect(change.intents?.map(({ callId }) => callId)).toEqual(intents.map(({ callId }) => callId));
      const judged = (name: string) => intents.filter(({ tool, ordinal }) => tool === name && ordinal < 4);
      const waiting = judged("ask").map(({ callId }) => callId);
      const denied = intents.filter((call) => [...judged("deny"), ...judged("throws")].includes(call));
      expect((change.approvals ?? []).map(({ callId }) => callId)).toEqual(waiting);
      expect((change.results ?? []).map(({ callId }) => callId)).toEqual(denied.map(({ callId }) => callId));
      expect(change.state?.to).toBe(waiting.length > 0 ? "WAITING_APPROVAL" : undefined);
      expect(change.events).toHaveLength(waiting.length + denied.length);
      for (const intent of change.intents ?? []) {
        expect(intent.approval !== undefined).toBe(waiting.includes(intent.callId));
        expect(intent.allowedCommands).toEqual(intent.tool === "allow" && intent.ordinal < 4 ? ["git"] : []);
      }
    }),
  );
});

test("a tool that the agent does not offer is refused when it is run, and nobody is asked about it", () => {
  const change = gateCalls(parts, { agent: "a", offered: ["grep"], judge }, [intentOf("ask", 0)]);
  expect([change.approvals, change.state]).toEqual([undefined, undefined]);
});
