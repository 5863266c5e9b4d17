import type { ContainerCreateOptions } from "dockerode";
import type { ContainerRequest } from "../../application/ports.ts";

/** Labels by which containers are found again without any memory. */
export const labels = {
  service: "drover.service",
  run: "drover.run",
  task: "drover.task",
  owner: "drover.owner",
  tenant: "drover.tenant",
  expires: "drover.expires",
} as const;

/** Value of the service label. */
export const serviceLabel = "sandbox";

/** What the service adds to every container it makes. */
export interface SpecSettings {
  /** This instance. */
  readonly owner: string;
  /** Name of a runtime that the engine knows; empty takes its default. */
  readonly runtime: string;
  /** Epoch milliseconds after which anybody may remove the container. */
  readonly expiresAtMs: number;
}

const user = "65534:65534";
const tmpBytes = 128 * 1024 ** 2;
const workspaceBytes = 128 * 1024 ** 2;
const inodes = 16_384;
const shmBytes = 16 * 1024 ** 2;
const openFiles = 256;
/** What process 1 takes of the pids on the host's kernel, and one that gVisor's count is late by. */
const processOneThreads = 12;

/** True for gVisor, by the name its runtime is registered with: programs then run on a kernel of their own in user space. */
function isGvisor(runtime: string): boolean {
  return /^(?:runsc|gvisor)/.test(runtime);
}

/**
 * Under gVisor the engine counts the threads of the user-space kernel, measured at 5 for each of the program's and 40
 * besides, and a kernel that gets no thread dies with all it runs. The program's own limit is then one that this
 * kernel keeps, for its user, and the engine's only a bound on the whole. That limit does not count process 1, which is
 * of another user, so its share is taken off: a program gets as many processes as elsewhere.
 */
function processLimits(processes: number, runtime: string) {
  if (!isGvisor(runtime)) return { pids: processes, ulimits: [] };
  const own = processes - processOneThreads;
  return { pids: 8 * processes + 256, ulimits: [{ Name: "nproc", Soft: own, Hard: own }] };
}

/** What process 1 alone needs, to run programs as another user and move their files; see docs/adr/0014-programs-under-another-user-on-gvisor.md. */
const processOneCapabilities = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID"];

/**
 * gVisor's kernel does not keep the processes of one user apart as PR_SET_DUMPABLE asks, so process 1 is root of that
 * kernel, which the host's knows nothing of, and gives the program a user without any capability. On the host's
 * kernel nothing in the container is root.
 */
function userOf(runtime: string) {
  if (!isGvisor(runtime)) return { user, capabilities: {} };
  return { user: "0:0", capabilities: { CapAdd: processOneCapabilities } };
}

/**
 * The hardened container. Everything that confines the program stands here; drover-init is the
 * image's entry point and process 1, so the engine's own init is off. Both tmpfs count as memory of
 * the container, and are kept so small that filling them alone is ENOSPC and not the end.
 */
export function containerSpec(request: ContainerRequest, settings: SpecSettings): ContainerCreateOptions {
  const { limits } = request;
  const tmp = Math.min(tmpBytes, Math.floor(limits.memoryBytes / 4));
  const workspace = Math.min(workspaceBytes, Math.floor(limits.memoryBytes / 2));
  const { pids, ulimits } = processLimits(limits.processes, settings.runtime);
  const { user: processOne, capabilities } = userOf(settings.runtime);
  const mount = `rw,exec,nosuid,nodev,nr_inodes=${inodes}`;
  return {
    Image: request.image,
    User: processOne,
    WorkingDir: "/workspace",
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: true,
    Labels: {
      [labels.service]: serviceLabel,
      [labels.run]: request.runId,
      [labels.task]: request.taskId,
      [labels.owner]: settings.owner,
      [labels.tenant]: request.tenant,
      [labels.expires]: String(settings.expiresAtMs),
    },
    HostConfig: {
      AutoRemove: false,
      Init: false,
      Privileged: false,
      NetworkMode: "none",
      IpcMode: "private",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      ...capabilities,
      SecurityOpt: ["no-new-privileges:true"],
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: limits.cpuMillis * 1_000_000,
      PidsLimit: pids,
      Ulimits: [
        { Name: "nofile", Soft: openFiles, Hard: openFiles },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: limits.memoryBytes, Hard: limits.memoryBytes },
        ...ulimits,
      ],
      ShmSize: shmBytes,
      Tmpfs: {
        "/tmp": `${mount},size=${tmp},mode=1777`,
        "/workspace": `${mount},size=${workspace},mode=0755,uid=65534,gid=65534`,
      },
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
      ...(settings.runtime === "" ? {} : { Runtime: settings.runtime }),
    },
  };
}
