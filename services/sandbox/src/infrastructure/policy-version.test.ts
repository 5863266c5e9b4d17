import { expect, test } from "vitest";
import { languages } from "../domain/languages.ts";
import { defaultLimitPolicy as policy } from "../domain/limits.ts";
import { policyVersion } from "./policy-version.ts";

test("the version is the same for the same policy and another one for any other", () => {
  const version = policyVersion(policy, languages, "");
  expect(version).toMatch(/^[0-9a-f]{16}$/);
  expect(policyVersion({ ...policy }, [...languages], "")).toBe(version);
  const others = [
    policyVersion(policy, languages, "runsc"),
    policyVersion(policy, languages.slice(1), ""),
    policyVersion({ ...policy, caps: { ...policy.caps, processes: 7 } }, languages, ""),
  ];
  expect(new Set([version, ...others]).size).toBe(4);
});
