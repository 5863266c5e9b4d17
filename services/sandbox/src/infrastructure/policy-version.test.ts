import { expect, test } from "vitest";
import { languages } from "../domain/languages.ts";
import { defaultLimitPolicy as policy } from "../domain/limits.ts";
import { policyVersion } from "./policy-version.ts";

const docker = { backend: "docker", runtime: "", level: "hardened" } as const;

test("the version is the same for the same policy and another one for any other", () => {
  const version = policyVersion(policy, languages, docker);
  expect(version).toMatch(/^[0-9a-f]{16}$/);
  expect(policyVersion({ ...policy }, [...languages], { ...docker })).toBe(version);
  const others = [
    policyVersion(policy, languages, { ...docker, runtime: "runsc" }),
    policyVersion(policy, languages, { ...docker, level: "userns" }),
    policyVersion(policy, languages, { ...docker, level: "none" }),
    policyVersion(policy, languages, { ...docker, backend: "kubernetes" }),
    policyVersion(policy, languages, { ...docker, backend: "kubernetes", runtime: "gvisor" }),
    policyVersion(policy, languages, { ...docker, backend: "local", level: "none" }),
    policyVersion(policy, languages.slice(1), docker),
    policyVersion({ ...policy, caps: { ...policy.caps, processes: 7 } }, languages, docker),
  ];
  expect(new Set([version, ...others]).size).toBe(9);
});
