import { expect, test } from "vitest";
import { shippedGrants, shippedObjects } from "../../../test/kubernetes/manifests.ts";
import { faultsOfPod } from "../../../test/kubernetes/pod-schema.ts";
import { breaksOfRestricted } from "../../../test/kubernetes/restricted.ts";
import { defaultLimitPolicy } from "../../domain/limits.ts";
import { podVerbs } from "./kube-client.ts";
import { podSpec } from "./pod-spec.ts";

const request = {
  runId: "0197-A",
  taskId: "task-1",
  tenant: "_acme",
  image: "i:1",
  limits: defaultLimitPolicy.defaults,
  lifetimeMs: 1500,
};
const made = (runtimeClass = "", owner = "host:7702/boot") =>
  podSpec(request, { owner, runtimeClass, expiresAtMs: 42 });
const objects = shippedObjects();
const shipped = (kind: string) => objects.filter((object) => object.kind === kind);

test("a Pod carries its run, owner and expiry as labels, and in full what a label cannot hold", () => {
  expect(made().metadata).toEqual({
    name: "drover-run-0197-a",
    labels: {
      "drover.dev/service": "sandbox",
      "drover.dev/run": "0197-A",
      "drover.dev/owner": "host_7702_boot",
      "drover.dev/expires": "42",
    },
    annotations: { "drover.dev/owner": "host:7702/boot", "drover.dev/task": "task-1", "drover.dev/tenant": "_acme" },
  });
  const owner = `-:${"x".repeat(62)}/${"y".repeat(9)}`;
  expect(faultsOfPod(made("", owner))).toEqual([]);
});

test("a Pod is what the API server knows and what `restricted` lets in", () => {
  for (const spec of [made(), made("gvisor")]) {
    expect(faultsOfPod(spec)).toEqual([]);
    expect(breaksOfRestricted(spec.spec)).toEqual([]);
  }
});

test("a Pod has no token, no second life, no room beyond its limits and an end", () => {
  const { spec } = made("gvisor");
  expect(spec).toMatchObject({
    restartPolicy: "Never",
    activeDeadlineSeconds: 2,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    runtimeClassName: "gvisor",
    volumes: [
      { name: "workspace", emptyDir: { medium: "Memory", sizeLimit: "134217728" } },
      { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: "134217728" } },
    ],
  });
  const [{ resources, securityContext } = { resources: undefined, securityContext: undefined }] = spec.containers;
  expect(resources?.limits).toMatchObject({ cpu: "1000m", memory: "536870912" });
  expect(resources?.requests).toMatchObject({ cpu: "1000m", memory: "536870912" });
  expect(securityContext?.readOnlyRootFilesystem).toBe(true);
  expect(made().spec).not.toHaveProperty("runtimeClassName");
});

test.each([
  [{ hostNetwork: true }, {}, "hostNetwork"],
  [{ hostPID: true }, {}, "hostPID"],
  [{ hostIPC: true }, {}, "hostIPC"],
  [{ volumes: [{ name: "x", hostPath: { path: "/" } }] }, {}, "volume types"],
  [{ securityContext: { runAsNonRoot: true } }, {}, "seccompProfile"],
  [{}, { privileged: true }, "privileged"],
  [{}, { allowPrivilegeEscalation: true }, "allowPrivilegeEscalation"],
  [{}, { runAsNonRoot: false }, "runAsNonRoot"],
  [{}, { runAsUser: 0 }, "runAsUser"],
  [{}, { capabilities: {} }, "capabilities.drop"],
  [{}, { capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } }, "capabilities.add"],
  [{}, { procMount: "Unmasked" }, "procMount"],
])("the table of `restricted` has teeth: %j %j", (pod, container, rule) => {
  const { spec } = made();
  const [program] = spec.containers;
  const worse = { ...program, securityContext: { ...program?.securityContext, ...container } };
  expect(breaksOfRestricted({ ...spec, ...pod, containers: [worse] })).toContain(rule);
});

test("the role grants what the client asks for, in the namespace of the Pods and nowhere else", () => {
  const pods = Object.keys(podVerbs).map((verb) => `pods:${verb}`);
  expect(shippedGrants()).toEqual(new Set([...pods, "pods/attach:create", "pods/attach:get"]));
  expect(shipped("ClusterRole").concat(shipped("ClusterRoleBinding"))).toEqual([]);
  for (const { metadata } of [...shipped("Role"), ...shipped("RoleBinding")])
    expect(metadata.namespace).toBe("drover-runs");
  expect(shipped("RoleBinding")[0]).toMatchObject({
    roleRef: { kind: "Role", name: shipped("Role")[0]?.metadata.name },
    subjects: [{ kind: "ServiceAccount", ...shipped("ServiceAccount")[0]?.metadata }],
  });
});

test("the namespace of the Pods is locked", () => {
  const namespaces = shipped("Namespace").map(({ metadata }) => metadata);
  expect(namespaces.find(({ name }) => name === "drover-runs")?.labels).toMatchObject({
    "pod-security.kubernetes.io/enforce": "restricted",
  });
  expect(shipped("NetworkPolicy")).toMatchObject([{ metadata: { namespace: "drover-runs" } }]);
  expect(shipped("NetworkPolicy")[0]?.spec).toEqual({ podSelector: {}, policyTypes: ["Ingress", "Egress"] });
  for (const kind of ["ResourceQuota", "LimitRange"])
    expect(shipped(kind)).toMatchObject([{ metadata: { namespace: "drover-runs" } }]);
  expect(shipped("RuntimeClass")).toMatchObject([{ metadata: { name: "gvisor" }, handler: "runsc" }]);
});
