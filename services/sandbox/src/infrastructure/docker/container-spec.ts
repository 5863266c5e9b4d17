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

/**
 * The hardened container. Everything that confines the program stands here; drover-init is the
 * image's entry point and process 1, so the engine's own init is off. Both tmpfs count as memory of
 * the container, and are kept so small that filling them alone is ENOSPC and not the end.
 */
export function containerSpec(request: ContainerRequest, settings: SpecSettings): ContainerCreateOptions {
  const { limits } = request;
  const tmp = Math.min(tmpBytes, Math.floor(limits.memoryBytes / 4));
  const workspace = Math.min(workspaceBytes, Math.floor(limits.memoryBytes / 2));
  const mount = `rw,exec,nosuid,nodev,nr_inodes=${inodes}`;
  return {
    Image: request.image,
    User: user,
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
      SecurityOpt: ["no-new-privileges:true"],
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: limits.cpuMillis * 1_000_000,
      PidsLimit: limits.processes,
      Ulimits: [
        { Name: "nofile", Soft: openFiles, Hard: openFiles },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: limits.memoryBytes, Hard: limits.memoryBytes },
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
