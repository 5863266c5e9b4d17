import { expect, test } from "vitest";
import { contentOf, replayOf, type ToolServer } from "./tool-server.ts";
import { checkToolServer } from "./tool-server-faults.ts";

const server: ToolServer = {
  ...{ name: "orders", kind: "grpc", address: "orders:7000", headers: [], tools: [], replay: [], points: [] },
  ...{ timeoutMs: 1_000, enabled: true, failOpen: false },
};
const header = (name: string, value = "v", secret = "") => ({ name, value, secret });

test("rows that mean the same have the same content, whatever the order in them", () => {
  const one = { ...server, headers: [header("A"), header("b")], tools: ["x", "y"] };
  const other = { ...server, headers: [header("b"), header("a")], tools: ["y", "x"] };
  expect(contentOf(one)).toBe(contentOf(other));
  expect(contentOf({ ...one, address: "orders:7001" })).not.toBe(contentOf(one));
  expect(contentOf({ ...one, headers: [header("A", "w"), header("b")] })).not.toBe(contentOf(one));
});

test("a tool is replayed by its own rule, else by that of all, else never", () => {
  const replay = [
    { tool: "*", replay: "safe" },
    { tool: "pay", replay: "idempotent" },
  ] as const;
  expect(replayOf({ replay }, "pay")).toBe("idempotent");
  expect(replayOf({ replay }, "get")).toBe("safe");
  expect(replayOf({ replay: [] }, "get")).toBe("never");
});

test.each([
  ["server.name", { name: "Orders" }],
  ["server.name", { name: "a".repeat(33) }],
  ["server.address", { address: "orders" }],
  ["server.address", { address: "http://orders:7000" }],
  ["server.address", { kind: "mcp_http", address: "ftp://x" }],
  ["server.address", { kind: "mcp_http", address: "https://user:word@x/" }],
  ["server.timeout_ms", { timeoutMs: 99 }],
  ["server.headers[0].name", { headers: [header("x-drover-identity")] }],
  ["server.headers[0].name", { headers: [header("Host")] }],
  ["server.headers[1].name", { headers: [header("a"), header("A")] }],
  ["server.headers[0].value", { headers: [header("a", "line\nbreak")] }],
  ["server.headers[0].secret", { headers: [header("a", "", "../other/TOKEN")] }],
  ["server.tools", { tools: [""] }],
  ["server.points", { points: ["before_tool"] }],
  ["server.points", { kind: "grpc_hook" }],
] as const)("a row with a fault in %s is refused: %j", (field, fields) => {
  expect(() => checkToolServer({ ...server, ...fields })).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", violations: [expect.objectContaining({ field })] }),
  );
});

test.each([
  ["a plain address", {}],
  ["several addresses and IPv6", { address: "10.0.0.1:7000, [::1]:7001" }],
  ["a name of DNS", { address: "dns:///orders.tools.svc:7000" }],
  ["MCP over HTTP", { kind: "mcp_http", address: "https://mcp.example/mcp" }],
  ["a hook", { kind: "grpc_hook", points: ["after_tool"], failOpen: true }],
  ["a secret behind a text", { headers: [header("authorization", "Bearer ", "ORDERS_TOKEN")] }],
] as const)("%s is no fault", (_what, fields) => {
  expect(() => checkToolServer({ ...server, ...fields })).not.toThrow();
});
