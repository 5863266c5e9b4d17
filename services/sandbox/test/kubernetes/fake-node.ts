import { EventEmitter, once } from "node:events";
import { PassThrough } from "node:stream";
import Docker from "dockerode";
import type { podSpec } from "../../src/infrastructure/kubernetes/pod-spec.ts";
import type { Pod } from "../../src/infrastructure/kubernetes/pod-state.ts";

/** A Pod as it was asked for. */
export type Manifest = ReturnType<typeof podSpec>;
type Status = NonNullable<Pod["status"]>;

interface PodHere {
  readonly manifest: Manifest;
  container: Docker.Container | undefined;
  status: Status;
  version: number;
  deleting: boolean;
  /** Its status is written by a test from now on. */
  scripted: boolean;
}

/** A change of a Pod as a watch tells it. */
export interface PodEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Pod;
}

/**
 * A cluster of one node whose container runtime is the local Docker engine: every Pod becomes a container that is given
 * what its manifest says and nothing more, so that programs really run. It goes through Pending and ContainerCreating;
 * a Pod with a grace period is there until its container is gone; output from before an attach is not replayed.
 */
export class FakeNode {
  readonly #docker = new Docker();
  readonly #pods = new Map<string, PodHere>();
  readonly #events = new EventEmitter<{ pod: [PodEvent] }>().setMaxListeners(0);
  readonly #work = new Set<Promise<unknown>>();
  #version = 1;
  /** Status that the next Pods have instead of a container, e.g. of a scheduler that finds no place. */
  instead: Status | undefined;

  names(): string[] {
    return [...this.#pods.keys()];
  }

  create(manifest: Manifest): Pod | undefined {
    const { name } = manifest.metadata;
    if (this.#pods.has(name)) return undefined;
    const scripted = this.instead !== undefined;
    const status = this.instead ?? { phase: "Pending" };
    const pod: PodHere = { manifest, container: undefined, status, version: 0, deleting: false, scripted };
    this.#pods.set(name, pod);
    this.#tell("ADDED", pod);
    if (!scripted) this.#track(this.#start(pod));
    return view(pod);
  }

  get(name: string): Pod | undefined {
    const pod = this.#pods.get(name);
    return pod === undefined ? undefined : view(pod);
  }

  list(): Pod[] {
    return [...this.#pods.values()].map(view);
  }

  watch(listener: (event: PodEvent) => void): () => void {
    this.#events.on("pod", listener);
    return () => this.#events.off("pod", listener);
  }

  /** Deletes gracefully; the Pod is there until its container is gone, and for good where the node does not answer. */
  remove(name: string): Pod | undefined {
    const pod = this.#pods.get(name);
    if (pod === undefined) return undefined;
    if (!pod.deleting) {
      pod.deleting = true;
      this.#tell("MODIFIED", pod);
      this.#track(this.#finish(name, pod));
    }
    return view(pod);
  }

  /** The node or the kubelet ends a Pod by itself: its container goes, and its status says why. */
  async end(name: string, status: Status): Promise<void> {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`No Pod ${name}.`);
    pod.scripted = true;
    await pod.container?.kill().catch(() => undefined);
    this.#set(pod, status);
  }

  async attach(name: string): Promise<Attached | undefined> {
    const container = this.#pods.get(name)?.container;
    if (container === undefined) return undefined;
    const socket = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    this.#docker.modem.demuxStream(socket, stdout, stderr);
    return { socket, stdout, stderr };
  }

  async drain(): Promise<void> {
    for (const name of this.names()) this.remove(name);
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  #track(work: Promise<unknown>): void {
    this.#work.add(work);
    work.finally(() => this.#work.delete(work)).catch(() => undefined);
  }

  async #start(pod: PodHere): Promise<void> {
    const waiting = (reason: string) =>
      this.#set(pod, { phase: "Pending", containerStatuses: [{ state: { waiting: { reason } } }] });
    waiting("ContainerCreating");
    try {
      const container = await this.#docker.createContainer(containerOf(pod.manifest));
      pod.container = container;
      await container.start();
      const { Image: imageID } = await container.inspect();
      this.#track(this.#exit(pod, container));
      if (!pod.scripted) this.#set(pod, { phase: "Running", containerStatuses: [{ imageID, state: { running: {} } }] });
    } catch {
      if (!pod.deleting) waiting("ErrImagePull");
    }
  }

  async #exit(pod: PodHere, container: Docker.Container): Promise<void> {
    await container.wait().catch(() => undefined);
    const state = await container.inspect().catch(() => undefined);
    if (pod.scripted || state === undefined) return;
    const { ExitCode: exitCode, OOMKilled } = state.State;
    const terminated = { reason: OOMKilled ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error", exitCode };
    this.#set(pod, { phase: exitCode === 0 ? "Succeeded" : "Failed", containerStatuses: [{ state: { terminated } }] });
  }

  async #finish(name: string, pod: PodHere): Promise<void> {
    // A container that is being made is waited for, as a kubelet does.
    while (pod.container === undefined && !pod.scripted && !this.#failed(pod)) await once(this.#events, "pod");
    await pod.container?.stop({ t: 1 }).catch(() => undefined);
    await pod.container?.remove({ force: true, v: true }).catch(() => undefined);
    this.#pods.delete(name);
    this.#tell("DELETED", pod);
  }

  #failed(pod: PodHere): boolean {
    return pod.status.containerStatuses?.[0]?.state?.waiting?.reason === "ErrImagePull";
  }

  #set(pod: PodHere, status: Status): void {
    pod.status = status;
    if (this.#pods.get(pod.manifest.metadata.name) === pod) this.#tell("MODIFIED", pod);
  }

  #tell(type: PodEvent["type"], pod: PodHere): void {
    pod.version = ++this.#version;
    this.#events.emit("pod", { type, object: view(pod) });
  }
}

/** The streams of a container. */
export interface Attached {
  readonly socket: NodeJS.ReadWriteStream;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
}

function view({ manifest, status, version, deleting }: PodHere): Pod {
  const deletion = deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
  return { ...manifest, metadata: { ...manifest.metadata, resourceVersion: String(version), ...deletion }, status };
}

function containerOf({ spec }: Manifest): Docker.ContainerCreateOptions {
  const [program] = spec.containers;
  if (program === undefined) throw new Error("The Pod has no container.");
  const { limits } = program.resources;
  const { runAsUser: user, runAsGroup: group, fsGroup } = spec.securityContext;
  const sizes = new Map(spec.volumes.map(({ name, emptyDir }) => [name, emptyDir.sizeLimit]));
  const mounts = program.volumeMounts.map(({ name, mountPath }) => [
    mountPath,
    `rw,exec,size=${sizes.get(name)},mode=0777,uid=${user},gid=${fsGroup}`,
  ]);
  const memory = Number(limits.memory);
  return {
    Image: program.image,
    User: `${user}:${group}`,
    WorkingDir: program.workingDir,
    OpenStdin: program.stdin,
    StdinOnce: program.stdinOnce,
    Tty: program.tty,
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: program.securityContext.readOnlyRootFilesystem,
      CapDrop: program.securityContext.capabilities.drop,
      SecurityOpt: program.securityContext.allowPrivilegeEscalation ? [] : ["no-new-privileges:true"],
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Number.parseInt(limits.cpu, 10) * 1_000_000,
      Tmpfs: Object.fromEntries(mounts),
      LogConfig: { Type: "none", Config: {} },
      ...(spec.runtimeClassName === "runsc" ? { Runtime: "runsc" } : {}),
    },
  };
}
