import type { ContainerRequest } from "../../application/ports.ts";

/** Label and annotation keys by which Pods are found again without any memory. */
export const podKeys = {
  service: "drover.dev/service",
  run: "drover.dev/run",
  owner: "drover.dev/owner",
  expires: "drover.dev/expires",
  task: "drover.dev/task",
  tenant: "drover.dev/tenant",
} as const;

/** Selects every Pod that any instance of this service made. */
export const podSelector = `${podKeys.service}=sandbox`;

/** Name of the one container of every Pod. */
export const containerName = "program";

/** What the service adds to every Pod it makes. */
export interface PodSettings {
  readonly owner: string;
  /** Empty takes the cluster's default runtime. */
  readonly runtimeClass: string;
  /** Epoch milliseconds after which anybody may remove the Pod. */
  readonly expiresAtMs: number;
}

const user = 65534;
const volumeBytes = 128 * 1024 ** 2;
const labelLength = 63;
/** Frames of process 1 go to the node's log of the container, which the kubelet cuts, but only every ten seconds. */
const logs = { requested: "64Mi", most: "1Gi" };

/** Name of a run's Pod; the same run twice is one Pod. */
export function podName(runId: string): string {
  return `drover-run-${runId}`.toLowerCase();
}

/**
 * The hardened Pod. It passes the Pod Security Standard `restricted`; its namespace must allow no traffic. Both volumes
 * count as memory of the container, and are kept so small that filling them alone is ENOSPC and not the end. The owner
 * and what a label cannot hold stand in annotations; the owner's label is for people.
 */
export function podSpec(request: ContainerRequest, settings: PodSettings) {
  const { limits } = request;
  const resources = { cpu: `${limits.cpuMillis}m`, memory: String(limits.memoryBytes) };
  const volume = (name: string, share: number) => {
    const sizeLimit = String(Math.min(volumeBytes, Math.floor(limits.memoryBytes / share)));
    return { name, emptyDir: { medium: "Memory", sizeLimit } };
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(request.runId),
      labels: {
        [podKeys.service]: "sandbox",
        [podKeys.run]: request.runId,
        [podKeys.owner]: labelValue(settings.owner),
        [podKeys.expires]: String(settings.expiresAtMs),
      },
      annotations: {
        [podKeys.owner]: settings.owner,
        [podKeys.task]: request.taskId,
        [podKeys.tenant]: request.tenant,
      },
    },
    spec: {
      restartPolicy: "Never",
      activeDeadlineSeconds: Math.ceil(request.lifetimeMs / 1000),
      // Not 0: the API server would forget the Pod before its node has proven that it is gone.
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      ...(settings.runtimeClass === "" ? {} : { runtimeClassName: settings.runtimeClass }),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: user,
        runAsGroup: user,
        fsGroup: user,
        seccompProfile: { type: "RuntimeDefault" },
      },
      volumes: [volume("workspace", 2), volume("tmp", 4)],
      containers: [
        {
          name: containerName,
          image: request.image,
          imagePullPolicy: "IfNotPresent",
          stdin: true,
          stdinOnce: true,
          tty: false,
          workingDir: "/workspace",
          resources: {
            limits: { ...resources, "ephemeral-storage": logs.most },
            requests: { ...resources, "ephemeral-storage": logs.requested },
          },
          securityContext: {
            allowPrivilegeEscalation: false,
            privileged: false,
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
            capabilities: { drop: ["ALL"] },
          },
          volumeMounts: [
            { name: "workspace", mountPath: "/workspace" },
            { name: "tmp", mountPath: "/tmp" },
          ],
        },
      ],
    },
  };
}

/** The nearest text that a label may hold. */
function labelValue(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9._-]/g, "_")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, labelLength)
    .replace(/[^A-Za-z0-9]+$/, "");
}
