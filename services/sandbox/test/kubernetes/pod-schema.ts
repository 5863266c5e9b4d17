/** A part of the schema: `*` is any text key, a nested object its fields, a string the type of a value. */
interface Schema {
  readonly [field: string]: Schema | "string" | "boolean" | "integer" | "strings";
}

const quantities: Schema = { cpu: "string", memory: "string", "ephemeral-storage": "string" };

/** Those fields of core/v1 Pod that a run needs; the fake server knows no other, so that a slip of the pen is refused. */
const pod: Schema = {
  apiVersion: "string",
  kind: "string",
  metadata: { name: "string", labels: { "*": "string" }, annotations: { "*": "string" } },
  spec: {
    restartPolicy: "string",
    activeDeadlineSeconds: "integer",
    terminationGracePeriodSeconds: "integer",
    automountServiceAccountToken: "boolean",
    enableServiceLinks: "boolean",
    hostNetwork: "boolean",
    hostPID: "boolean",
    hostIPC: "boolean",
    runtimeClassName: "string",
    securityContext: {
      runAsNonRoot: "boolean",
      runAsUser: "integer",
      runAsGroup: "integer",
      fsGroup: "integer",
      seccompProfile: { type: "string" },
    },
    volumes: { name: "string", emptyDir: { medium: "string", sizeLimit: "string" } },
    containers: {
      name: "string",
      image: "string",
      imagePullPolicy: "string",
      stdin: "boolean",
      stdinOnce: "boolean",
      tty: "boolean",
      workingDir: "string",
      resources: { limits: quantities, requests: quantities },
      securityContext: {
        allowPrivilegeEscalation: "boolean",
        privileged: "boolean",
        readOnlyRootFilesystem: "boolean",
        runAsNonRoot: "boolean",
        capabilities: { drop: "strings" },
      },
      volumeMounts: { name: "string", mountPath: "string" },
    },
  },
};

const label = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const quantity = /^\d+(?:m|Ki|Mi|Gi)?$/;

/** What a strict API server finds wrong with a Pod, one sentence each. */
export function faultsOfPod(manifest: unknown): string[] {
  const faults = faultsOf(manifest, pod, "");
  const { metadata, spec } = manifest as {
    metadata?: { name?: string; labels?: Record<string, string> };
    spec?: { containers?: { resources?: Record<string, Record<string, string>> }[] };
  };
  if (!/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(metadata?.name ?? "")) faults.push("metadata.name: invalid");
  for (const [key, value] of Object.entries(metadata?.labels ?? {})) {
    if (!label.test(value)) faults.push(`metadata.labels[${key}]: invalid`);
  }
  for (const amounts of Object.values(spec?.containers?.[0]?.resources ?? {})) {
    for (const amount of Object.values(amounts)) if (!quantity.test(amount)) faults.push(`resources: ${amount}`);
  }
  return faults;
}

function faultsOf(value: unknown, schema: Schema, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => faultsOf(item, schema, `${path}[${index}]`));
  if (typeof value !== "object" || value === null) return [`${path}: no object`];
  return Object.entries(value).flatMap(([field, inner]) => {
    const here = path === "" ? field : `${path}.${field}`;
    const known = schema[field] ?? schema["*"];
    if (known === undefined) return [`unknown field "${here}"`];
    if (typeof known === "object") return faultsOf(inner, known, here);
    return isOf(inner, known) ? [] : [`${here}: no ${known}`];
  });
}

function isOf(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "strings") return Array.isArray(value) && value.every((one) => typeof one === "string");
  return typeof value === type;
}
