type Fields = Readonly<Record<string, unknown>>;

/** One rule of a Pod Security Standard: where it looks, and what it finds there that it forbids. */
interface Rule {
  readonly name: string;
  readonly breaks: (pod: Fields, container: Fields) => boolean;
}

const free = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);
const at = (from: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Fields | undefined)?.[name], from);
const either = (pod: Fields, container: Fields, ...path: string[]) =>
  at(container, "securityContext", ...path) ?? at(pod, "securityContext", ...path);

/** The Pod Security Standard `restricted` (kubernetes.io/docs/concepts/security/pod-security-standards), baseline included. */
const rules: readonly Rule[] = [
  { name: "hostNetwork", breaks: (pod) => pod.hostNetwork === true },
  { name: "hostPID", breaks: (pod) => pod.hostPID === true },
  { name: "hostIPC", breaks: (pod) => pod.hostIPC === true },
  { name: "privileged", breaks: (_, container) => at(container, "securityContext", "privileged") === true },
  {
    name: "hostPort",
    breaks: (_, { ports = [] }) => (ports as Fields[]).some(({ hostPort = 0 }) => hostPort !== 0),
  },
  { name: "sysctls", breaks: (pod) => ((at(pod, "securityContext", "sysctls") ?? []) as unknown[]).length > 0 },
  {
    name: "procMount",
    breaks: (_, container) => (at(container, "securityContext", "procMount") ?? "Default") !== "Default",
  },
  {
    name: "volume types",
    breaks: ({ volumes = [] }) =>
      (volumes as Fields[]).some((volume) => Object.keys(volume).some((type) => type !== "name" && !free.has(type))),
  },
  {
    name: "allowPrivilegeEscalation",
    breaks: (_, container) => at(container, "securityContext", "allowPrivilegeEscalation") !== false,
  },
  { name: "runAsNonRoot", breaks: (pod, container) => either(pod, container, "runAsNonRoot") !== true },
  { name: "runAsUser", breaks: (pod, container) => either(pod, container, "runAsUser") === 0 },
  {
    name: "seccompProfile",
    breaks: (pod, container) =>
      !["RuntimeDefault", "Localhost"].includes(String(either(pod, container, "seccompProfile", "type"))),
  },
  {
    name: "capabilities.drop",
    breaks: (_, container) =>
      !((at(container, "securityContext", "capabilities", "drop") ?? []) as string[]).includes("ALL"),
  },
  {
    name: "capabilities.add",
    breaks: (_, container) =>
      ((at(container, "securityContext", "capabilities", "add") ?? []) as string[]).some(
        (name) => name !== "NET_BIND_SERVICE",
      ),
  },
];

/** Names of the rules that a Pod's `spec` breaks. */
export function breaksOfRestricted(spec: Fields): string[] {
  const containers = [...((spec.containers ?? []) as Fields[]), ...((spec.initContainers ?? []) as Fields[])];
  return rules.filter(({ breaks }) => containers.some((container) => breaks(spec, container))).map(({ name }) => name);
}
