import type { ToolSpec } from "@drover/model";
import { expect, test } from "vitest";
import type { Step, StepBody, TaskLog } from "../domain/step.ts";
import { changedCode } from "../domain/tool-pins.ts";
import { findToolsName } from "./find-tools.ts";
import { type TaskToolParts, taskTools } from "./task-tools.ts";
import type { Tool, ToolBox, ToolContext } from "./tool-ports.ts";

const toolOf = (name: string, description = ""): Tool =>
  ({ spec: { name, description, parameters: {} } }) as unknown as Tool;
const boxOf = (tools: readonly Tool[]): ToolBox => ({
  specs: tools.map(({ spec }) => spec),
  polling: new Set(),
  resolve: (name, args) => ({ tool: tools.find(({ spec }) => spec.name === name) as Tool, args: JSON.parse(args) }),
});
const parts = (maxSchemaTokens = 1_000): TaskToolParts => ({
  ...{ maxSchemaTokens, boxOf },
  promptTokens: (_messages: unknown, tools: readonly ToolSpec[]) => tools.length * 100,
});

const descriptions: Readonly<Record<string, string>> = {
  orders__get: "Reads an order.",
  orders__pay: "Pays an order by card.",
  mail__send: "Sends a letter.",
};

function lease(digests: Readonly<Record<string, string>>) {
  const foreign = boxOf(Object.keys(digests).map((name) => toolOf(name, descriptions[name])));
  return { local: boxOf([toolOf("bash")]), foreign, digests: new Map(Object.entries(digests)) };
}

function log(...bodies: readonly Partial<StepBody>[]): TaskLog {
  return { steps: bodies.map((body, index) => ({ seq: index + 1, round: 1, body }) as Step), calls: [] };
}

const namesOf = ({ tools }: { readonly tools: ToolBox }) => tools.specs.map(({ name }) => name);
const codeOf = (tools: ToolBox, name: string) => {
  const resolved = tools.resolve(name, "{}");
  return "refused" in resolved ? resolved.refused.errorCode : "fits";
};

test("what is offered for the first time counts as offered with the turn, and only then", () => {
  const asked = taskTools(parts(), lease({ orders__get: "d1" }), { names: [], log: log(), asking: true });
  expect(asked.tools.pins).toEqual({ orders__get: "d1" });
  expect(codeOf(asked.tools, "orders__get")).toBe("fits");
  const unasked = taskTools(parts(), lease({ orders__get: "d1" }), { names: [], log: log(), asking: false });
  expect(codeOf(unasked.tools, "orders__get")).toBe("UNKNOWN_TOOL");
  const recorded = log({ kind: "turn", pins: { orders__get: "d1" } });
  const later = taskTools(parts(), lease({ orders__get: "d1" }), { names: [], log: recorded, asking: false });
  expect(codeOf(later.tools, "orders__get")).toBe("fits");
  expect(codeOf(later.tools, "bash")).toBe("fits");
});

test("a tool that has changed since is refused until the model was told, and then counts in its new form", () => {
  const recorded = { kind: "turn", pins: { orders__get: "d1", orders__pay: "p" } } as const;
  const now = lease({ orders__get: "d2", orders__pay: "p" });
  const changed = taskTools(parts(), now, { names: [], log: log(recorded), asking: false });
  expect(changed.changed).toEqual({ orders__get: "d2" });
  expect(codeOf(changed.tools, "orders__get")).toBe("TOOL_CHANGED");
  expect(codeOf(changed.tools, "orders__pay")).toBe("fits");
  const told = log(recorded, { kind: "nudge", text: "", code: changedCode, pins: { orders__get: "d2" } });
  const after = taskTools(parts(), now, { names: [], log: told, asking: true });
  expect(after.changed).toEqual({});
  expect(codeOf(after.tools, "orders__get")).toBe("fits");
});

test("a tool that is gone is unknown, also where it was offered", () => {
  const recorded = log({ kind: "turn", pins: { orders__get: "d1" } });
  const { tools, changed } = taskTools(parts(), lease({}), { names: [], log: recorded, asking: true });
  expect(changed).toEqual({});
  expect(codeOf(tools, "orders__get")).toBe("UNKNOWN_TOOL");
});

test("an agent is offered the tools of servers that it names, and no others", () => {
  const now = lease({ orders__get: "a", orders__pay: "b" });
  const view = taskTools(parts(), now, { names: ["orders__pay"], log: log(), asking: true });
  expect(namesOf(view)).toEqual(["bash", "orders__pay"]);
  expect(codeOf(view.tools, "orders__get")).toBe("UNKNOWN_TOOL");
});

test("beyond the budget only the search is offered, and what it found is from then on, also after a crash", async () => {
  const now = lease({ orders__get: "a", orders__pay: "b", mail__send: "c" });
  const first = taskTools(parts(250), now, { names: [], log: log(), asking: true });
  expect(namesOf(first)).toEqual(["bash", findToolsName]);
  expect(first.tools.pins).toEqual({});
  const resolved = first.tools.resolve(findToolsName, '{"query": "pay with a card"}');
  if (!("tool" in resolved)) throw new Error("the search is not there");
  const found = await resolved.tool.execute(resolved.args, {} as ToolContext, AbortSignal.timeout(1_000));
  expect(found).toMatchObject({ ok: true, artifacts: ["tool://orders__pay"] });
  expect(found.text).toBe("orders__pay: Pays an order by card.");
  const loaded = log({ kind: "results", turn: 1, loaded: ["orders__pay"] });
  const second = taskTools(parts(250), now, { names: [], log: loaded, asking: true });
  expect(namesOf(second)).toEqual(["bash", findToolsName, "orders__pay"]);
  expect(second.tools.pins).toEqual({ orders__pay: "b" });
  expect(codeOf(second.tools, "mail__send")).toBe("UNKNOWN_TOOL");
});

test("within the budget there is no search", () => {
  const view = taskTools(parts(300), lease({ orders__get: "a", orders__pay: "b", mail__send: "c" }), {
    ...{ names: [], log: log(), asking: true },
  });
  expect(namesOf(view)).not.toContain(findToolsName);
});

test("the search finds no tool that the agent does not name", async () => {
  const now = lease({ orders__get: "a", orders__pay: "b", mail__send: "c" });
  const names = ["orders__get", "mail__send"];
  const { tools } = taskTools(parts(0), now, { names, log: log(), asking: true });
  const resolved = tools.resolve(findToolsName, '{"query": "order"}');
  if (!("tool" in resolved)) throw new Error("the search is not there");
  const found = await resolved.tool.execute(resolved.args, {} as ToolContext, AbortSignal.timeout(1_000));
  expect(found.artifacts).toEqual(["tool://orders__get"]);
});
