import fc from "fast-check";
import { expect, test } from "vitest";
import { type ForeignTool, isForeignName, offeredName, offeredTools } from "./foreign-tools.ts";

const tool = (name: string, inputSchema: unknown = { type: "object" }, description = "Does it."): ForeignTool => ({
  ...{ name, description, inputSchema },
});
const listed = (...tools: ForeignTool[]) => offeredTools("srv", tools, []);

test("a name that every provider takes stays as it is", () => {
  expect(offeredName("orders", "get_order")).toBe("orders__get_order");
});

test("whatever a server calls its tools, the names are good for every provider, and no two tools share one", () => {
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 128, unit: "binary" }), { maxLength: 20 });
  fc.assert(
    fc.property(names, (all) => {
      const offered = all.map((name) => offeredName("a-server", name));
      for (const name of offered) expect(isForeignName(name)).toBe(true);
      expect(new Set(offered).size).toBe(all.length);
    }),
  );
});

test("names that differ only in what has to be replaced stay two tools, in whatever order they are listed", () => {
  const names = (...all: string[]) => listed(...all.map((name) => tool(name))).tools.map(({ spec }) => spec.name);
  expect(new Set(names("a.b", "a/b", "a_b")).size).toBe(3);
  expect(names("a_b", "a/b", "a.b")).toEqual(names("a.b", "a/b", "a_b"));
});

const deep = Array.from({ length: 70 }).reduce<unknown>((inner) => ({ not: inner }), {});

test.each([
  ["refers to another host", { $ref: "https://evil.example/schema.json" }, /evil\.example.*not fetched/],
  [
    "refers to another host deep inside",
    { properties: { a: { items: { $ref: "http://10.0.0.1/x" } } } },
    /not fetched/,
  ],
  ["refers to a file", { properties: { a: { $dynamicRef: "file:///etc/passwd" } } }, /not fetched/],
  ["is no object", "string", /not a JSON object/],
  ["is one of a text", { type: "string" }, /not one of an object/],
  ["is nested without end", deep, /nested deeper/],
  ["is enormous", { description: "x".repeat(70_000) }, /more than 65536 characters/],
  ["answers later", { $async: true }, /\$async/],
])("a tool whose schema %s is left out, and why is said", (_what, schema, why) => {
  const { tools, leftOut } = listed(tool("bad", schema), tool("good"));
  expect(tools.map(({ spec }) => spec.name)).toEqual(["srv__good"]);
  expect(leftOut).toEqual([expect.stringMatching(why)]);
});

test("the model is told a schema that providers take, and arguments are checked by the whole one", () => {
  const schema = {
    $schema: "x",
    $id: "y",
    anyOf: [{ required: ["a"] }],
    properties: { a: { $ref: "#/$defs/n" } },
    $defs: { n: {} },
  };
  const [one] = listed(tool("t", schema)).tools;
  expect(one?.spec.parameters).toEqual({ type: "object", properties: schema.properties, $defs: schema.$defs });
  expect(one?.schema).toEqual({ anyOf: schema.anyOf, properties: schema.properties, $defs: schema.$defs });
});

test("a list is bounded, a name counts once, and only allowed tools are offered", () => {
  const many = Array.from({ length: 502 }, (_, index) => tool(`t${index}`));
  expect(listed(...many).tools).toHaveLength(500);
  expect(listed(...many).leftOut).toEqual(["2 tools beyond 500."]);
  expect(listed(tool("t"), tool("t", { type: "object", properties: {} })).leftOut).toEqual([
    '"t": its name is there twice.',
  ]);
  const { tools, leftOut } = offeredTools("srv", [tool("a"), tool("b")], ["b", "c"]);
  expect(tools.map(({ foreignName }) => foreignName)).toEqual(["b"]);
  expect(leftOut).toEqual(['"c": the server does not have it.']);
});

test("the digest changes with name, description and schema, and not with the order of keys", () => {
  const digest = (one: ForeignTool) => listed(one).tools[0]?.digest;
  const base = digest(tool("t", { type: "object", properties: { a: {}, b: {} } }));
  expect(digest(tool("t", { properties: { b: {}, a: {} }, type: "object" }))).toBe(base);
  expect(digest(tool("t", { type: "object", properties: { a: {} } }))).not.toBe(base);
  expect(digest(tool("t", { type: "object", properties: { a: {}, b: {} } }, "Else."))).not.toBe(base);
});
