import { expect, test } from "vitest";
import { targetsOf } from "./targets.ts";

test.each([
  ["10.0.0.1:7702,10.0.0.2:7702", ["ipv4:10.0.0.1:7702,10.0.0.2:7702"]],
  ["[::1]:7702", ["ipv6:[::1]:7702"]],
  ["sandbox:7702", ["dns:///sandbox:7702"]],
  ["dns:///sandbox.drover:7702", ["dns:///sandbox.drover:7702"]],
  ["a:1, b:2,10.0.0.1:3,", ["ipv4:10.0.0.1:3", "dns:///a:1", "dns:///b:2"]],
])("%s", (addresses, targets) => {
  expect(targetsOf(addresses)).toEqual(targets);
});

test("no address at all is refused", () => {
  expect(() => targetsOf(" , ")).toThrow(TypeError);
});
