import { DroverError, newId } from "@drover/kernel";
import type {
  Container,
  ContainerRequest,
  EngineHealth,
  ExecBackend,
  FoundContainer,
} from "../../application/ports.ts";
import type { Capability } from "../../domain/capability.ts";
import type { Limits } from "../../domain/limits.ts";
import { raced } from "../raced.ts";
import { ImageDigests } from "./image-digests.ts";
import type { KubeAccess } from "./kube-access.ts";
import { KubeClient } from "./kube-client.ts";
import { aborted } from "./kube-errors.ts";
import { PodContainer } from "./pod-container.ts";
import { podKeys, podName, podSpec } from "./pod-spec.ts";
import { lateFault, type PodState, startFault, stateOf } from "./pod-state.ts";
import { Pods } from "./pods.ts";

/** Where Pods are made and how. */
export interface KubernetesOptions extends KubeAccess {
  readonly namespace: string;
  /** Empty takes the cluster's default. */
  readonly runtimeClass: string;
  /** This instance; goes into every Pod. */
  readonly owner: string;
  /** Limits of a Pod that is started to see an image. */
  readonly limits: Limits;
  /** Milliseconds between two questions whether an attached Pod is still there. */
  readonly heartbeatMs?: number;
}

/** How long a creation whose start was given up is waited for, so that what it makes is removed first. */
const lateCreationMs = 3000;
const createTimeoutMs = 30_000;
const lookTimeoutMs = 60_000;
const healthTimeoutMs = 3000;
const heartbeatMs = 10_000;

/**
 * One Pod a run, in a namespace that must allow no traffic. The number of processes is the kubelet's
 * (`podPidsLimit`), not a run's. Nothing is connected before the first call.
 */
export class KubernetesBackend implements ExecBackend {
  readonly name = "kubernetes";
  readonly runtime: string;
  readonly capabilities = new Set<Capability>(["memory-limit", "cpu-limit", "network-off", "file-isolation"]);
  readonly #pods: Pods;
  readonly #options: KubernetesOptions;
  readonly #digests = new ImageDigests((image) => this.#look(image));

  constructor(options: KubernetesOptions) {
    this.runtime = options.runtimeClass === "" ? "default" : options.runtimeClass;
    this.#options = options;
    this.#pods = new Pods(new KubeClient(options), options.namespace);
  }

  async check(image: string, signal: AbortSignal): Promise<string> {
    return await raced(this.#digests.of(image), signal);
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<Container> {
    signal.throwIfAborted();
    const { owner, runtimeClass } = this.#options;
    const name = podName(request.runId);
    const spec = podSpec(request, { owner, runtimeClass, expiresAtMs: Date.now() + request.lifetimeMs });
    // A create that was given up half-way would leave a Pod nobody knows, so it always runs to its end.
    const creating = this.#pods.create(spec, AbortSignal.timeout(createTimeoutMs));
    let answered = false;
    try {
      await raced(creating, signal);
      answered = true;
      await this.#running(name, request.image, signal);
      return await this.#attached(name, signal);
    } catch (error) {
      const removed = this.#giveUp(name, creating);
      // A creation without an answer is not waited for for ever: the server may be hanging, and the reaper knows the Pod by its labels.
      if (answered || !signal.aborted) await removed;
      else await raced(removed, AbortSignal.timeout(lateCreationMs)).catch(() => undefined);
      throw signal.aborted && error === signal.reason ? aborted(signal) : error;
    }
  }

  async health(signal: AbortSignal): Promise<EngineHealth> {
    try {
      const version = await this.#pods.version(AbortSignal.any([signal, AbortSignal.timeout(healthTimeoutMs)]));
      return { ready: true, problem: "", advice: "", version };
    } catch (error) {
      const { message, cause } = DroverError.from(error);
      const why = cause instanceof Error ? ` ${cause.message}` : "";
      const advice =
        "Check DROVER_SANDBOX_KUBERNETES_API, its token and CA files, and that deploy/k8s/sandbox.yaml is applied.";
      return { ready: false, problem: `${message}${why}`, advice, version: "" };
    }
  }

  async found(signal: AbortSignal): Promise<readonly FoundContainer[]> {
    return (await this.#pods.list(signal)).map((pod) => {
      const { name, labels = {}, annotations = {} } = pod.metadata;
      return {
        id: name,
        runId: labels[podKeys.run] ?? "",
        owner: annotations[podKeys.owner] ?? "",
        expiresAt: new Date(Number(labels[podKeys.expires] ?? 0)),
        exited: pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded",
      };
    });
  }

  async remove(id: string): Promise<void> {
    await this.#pods.remove(id);
  }

  async #running(name: string, image: string, signal: AbortSignal): Promise<void> {
    let last: PodState = { kind: "waiting", why: "", detail: "" };
    try {
      const digest = await this.#pods.until(
        name,
        (pod) => {
          last = stateOf(pod);
          const fault = startFault(last, image);
          if (fault !== undefined) throw fault;
          return last.kind === "running" ? last.digest : undefined;
        },
        signal,
      );
      this.#digests.saw(image, digest);
    } catch (error) {
      if (!isTimeout(signal)) throw error;
      throw startFault(last, image) ?? lateFault(last);
    }
  }

  async #attached(name: string, signal: AbortSignal): Promise<PodContainer> {
    const options = { heartbeatMs: this.#options.heartbeatMs ?? heartbeatMs };
    const stream = await this.#pods.attach(name, options, signal);
    try {
      const container = new PodContainer(this.#pods, name, stream);
      await raced(container.ready(), signal);
      return container;
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  /** A Pod that another start of the same run made is not ours to remove. */
  async #giveUp(name: string, creating: Promise<void>): Promise<void> {
    await creating
      .then(
        () => true,
        (error: unknown) => DroverError.from(error).code === "UNAVAILABLE",
      )
      .then((mayBeThere) => (mayBeThere ? this.#pods.remove(name) : undefined))
      .catch(() => undefined);
  }

  async #look(image: string): Promise<string> {
    const runId = newId();
    const request = { runId, taskId: "", tenant: "", image, limits: this.#options.limits, lifetimeMs: lookTimeoutMs };
    const { owner, runtimeClass } = this.#options;
    const name = podName(runId);
    const spec = podSpec(request, { owner, runtimeClass, expiresAtMs: Date.now() + lookTimeoutMs });
    const signal = AbortSignal.timeout(lookTimeoutMs);
    const creating = this.#pods.create(spec, signal);
    try {
      await creating;
      await this.#running(name, image, signal);
      return await this.#digests.of(image);
    } finally {
      await this.#giveUp(name, creating);
    }
  }
}

function isTimeout(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason instanceof Error && signal.reason.name === "TimeoutError";
}
