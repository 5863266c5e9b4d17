import { expect, test } from "vitest";
import { createCheckedResolver } from "./checked-resolver.ts";

const resolve = async (host: string) => [
  { address: host === "inside" ? "10.1.2.3" : "93.184.216.34", family: 4 as const },
];

test.each([
  ["a private address behind a name", "inside", {}],
  ["a private address itself", "127.0.0.1", {}],
  ["a private IPv6 address", "::1", {}],
  ["a host that is not on the list", "example.org", { allowHosts: ["*.example.com"] }],
])("%s is refused", async (_what, host, rules) => {
  await expect(createCheckedResolver(rules, resolve)(host)).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});

test("a public host, and a private one that is allowed, give their addresses", async () => {
  expect(await createCheckedResolver({}, resolve)("example.org")).toEqual([{ address: "93.184.216.34", family: 4 }]);
  const inside = await createCheckedResolver({ allowPrivate: ["10.0.0.0/8"] }, resolve)("inside");
  expect(inside).toEqual([{ address: "10.1.2.3", family: 4 }]);
});
