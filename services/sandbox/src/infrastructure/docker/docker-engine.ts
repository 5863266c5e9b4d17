import { DroverError } from "@drover/kernel";
import Docker from "dockerode";
import type {
  Container,
  ContainerRequest,
  EngineHealth,
  ExecBackend,
  FoundContainer,
} from "../../application/ports.ts";
import type { Capability } from "../../domain/capability.ts";
import { raced } from "../raced.ts";
import { AttachedStream, type EngineAddress } from "./attached-stream.ts";
import { containerSpec, labels, serviceLabel } from "./container-spec.ts";
import { DockerContainer } from "./docker-container.ts";
import { adviceFor, engineError, statusOf } from "./engine-errors.ts";
import { removeContainer } from "./remove-container.ts";

/** How the engine is reached and used. */
export interface DockerEngineOptions {
  /** `unix:///path` or `tcp://host:port`. */
  readonly host: string;
  /** This instance; goes into every container's owner label. */
  readonly owner: string;
  /** Name of a registered runtime; empty takes the engine's default. */
  readonly runtime: string;
  /** Images of which at least one must be there for the service to be called healthy. */
  readonly images: readonly string[];
}

const healthTimeoutMs = 3000;
/** How long a creation whose start was given up is waited for, so that what it makes is removed first. */
const lateCreationMs = 3000;
/** How long the exit of a process 1 that was never ready is waited for. */
const exitTimeoutMs = 1000;
/** What drover-init itself ends with: its service is gone, or the host did not let it set itself up. */
const ownCodes: ReadonlySet<number> = new Set([70, 71]);

/** Containers of a Docker daemon. Nothing is connected before the first call, so the daemon may come and go. */
export class DockerEngine implements ExecBackend {
  readonly name = "docker";
  readonly capabilities = new Set<Capability>([
    "memory-limit",
    "cpu-limit",
    "process-limit",
    "network-off",
    "file-isolation",
    "process-one-apart",
  ]);
  readonly runtime: string;
  readonly #docker: Docker;
  readonly #address: EngineAddress;
  readonly #options: DockerEngineOptions;

  constructor(options: DockerEngineOptions) {
    this.runtime = options.runtime === "" ? "default" : options.runtime;
    this.#options = options;
    this.#address = addressOf(options.host);
    this.#docker = new Docker(clientOptions(this.#address));
  }

  async check(image: string, signal: AbortSignal): Promise<string> {
    try {
      return (await raced(this.#docker.getImage(image).inspect(), signal)).Id;
    } catch (error) {
      if (statusOf(error) === 404) throw missing([image]);
      throw engineError(error, "answer");
    }
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<Container> {
    signal.throwIfAborted();
    const { owner, runtime } = this.#options;
    const expiresAtMs = Date.now() + request.lifetimeMs;
    // A create that was given up half-way would leave a container nobody knows, so it always runs to its end.
    const creating = this.#create(containerSpec(request, { owner, runtime, expiresAtMs }));
    let id: string | undefined;
    try {
      id = await raced(creating, signal);
      return await raced(this.#startCreated(id, signal), signal);
    } catch (error) {
      await this.#giveUp(id, creating);
      throw signal.aborted && error === signal.reason ? aborted(signal) : engineError(error, "start a container");
    }
  }

  async health(signal: AbortSignal): Promise<EngineHealth> {
    const { host } = this.#options;
    try {
      const bound = AbortSignal.any([signal, AbortSignal.timeout(healthTimeoutMs)]);
      const [{ Version: version }, absent] = await raced(this.#look(), bound);
      if (absent.length < this.#options.images.length) return { ready: true, problem: "", advice: "", version };
      return {
        ready: false,
        problem: `Images are missing: ${absent.join(", ")}.`,
        advice: "Run `make images`.",
        version,
      };
    } catch (error) {
      return { ready: false, ...adviceFor(error, host), version: "" };
    }
  }

  async found(signal: AbortSignal): Promise<readonly FoundContainer[]> {
    const filters = { label: [`${labels.service}=${serviceLabel}`] };
    const list = await this.#docker
      .listContainers({ all: true, filters, abortSignal: signal })
      .catch((error: unknown) => Promise.reject(engineError(error, "list containers")));
    return list.map(({ Id, Labels, State }) => ({
      id: Id,
      runId: Labels[labels.run] ?? "",
      owner: Labels[labels.owner] ?? "",
      expiresAt: new Date(Number(Labels[labels.expires] ?? 0)),
      exited: State === "exited" || State === "dead",
    }));
  }

  async remove(id: string): Promise<void> {
    await removeContainer(this.#docker, id);
  }

  async #look(): Promise<[Docker.DockerVersion, string[]]> {
    const absent = this.#options.images.map(async (image) => ((await this.#has(image)) ? [] : [image]));
    const [version, ...missed] = await Promise.all([this.#docker.version(), ...absent]);
    return [version, missed.flat()];
  }

  async #create(spec: Docker.ContainerCreateOptions): Promise<string> {
    try {
      // Without these two the client would put the whole specification into the URL as well.
      const options = { _query: {}, _body: spec } as Docker.ContainerCreateOptions;
      return (await this.#docker.createContainer(options)).id;
    } catch (error) {
      if (statusOf(error) === 404) throw missing([spec.Image ?? ""]);
      throw error;
    }
  }

  async #startCreated(id: string, signal: AbortSignal): Promise<DockerContainer> {
    const container = this.#docker.getContainer(id);
    const stream = await AttachedStream.open(this.#address, id, signal);
    const exited = container.wait({ condition: "next-exit" }).catch(() => undefined);
    const started = new DockerContainer(this.#docker, id, stream, exited);
    try {
      await container.start();
      await started.ready();
      return started;
    } catch (error) {
      stream.socket.destroy();
      throw DroverError.from(error).reason === "CONTAINER_LOST" ? await whyNotReady(exited, error) : error;
    }
  }

  async #giveUp(id: string | undefined, creating: Promise<string>): Promise<void> {
    if (id !== undefined) return await removeContainer(this.#docker, id).catch(() => undefined);
    const removed = creating.then((late) => removeContainer(this.#docker, late));
    // Not for ever: the engine may be hanging, and the reaper knows the container by its labels.
    await raced(removed, AbortSignal.timeout(lateCreationMs)).catch(() => undefined);
  }

  async #has(image: string): Promise<boolean> {
    try {
      await this.#docker.getImage(image).inspect();
      return true;
    } catch (error) {
      if (statusOf(error) === 404) return false;
      throw error;
    }
  }
}

/** Process 1 that ended by itself before it was ready is not drover-init, or is made for another machine. */
async function whyNotReady(exited: Promise<{ StatusCode: number } | undefined>, error: unknown): Promise<unknown> {
  const code = await raced(exited, AbortSignal.timeout(exitTimeoutMs)).then(
    (end) => end?.StatusCode,
    () => undefined,
  );
  if (code === undefined || ownCodes.has(code) || code >= 128) return error;
  const message = `The image's entry point ended with ${code} before it was ready: it is not drover-init, or is made for another machine.`;
  return new DroverError("FAILED_PRECONDITION", message, { reason: "IMAGE_UNUSABLE", cause: error });
}

function missing(images: readonly string[]): DroverError {
  return new DroverError("FAILED_PRECONDITION", `The image ${images.join(", ")} is missing; run \`make images\`.`, {
    reason: "IMAGE_MISSING",
  });
}

function aborted(signal: AbortSignal): DroverError {
  const { reason } = signal;
  const late = reason instanceof Error && reason.name === "TimeoutError";
  if (!late) return DroverError.from(reason);
  return new DroverError("UNAVAILABLE", "The container engine did not start a container in time.", {
    reason: "ENGINE_UNAVAILABLE",
  });
}

function addressOf(host: string): EngineAddress {
  if (host.startsWith("unix://")) return { path: host.slice("unix://".length) };
  const url = new URL(host);
  return { host: url.hostname, port: Number(url.port) };
}

function clientOptions(address: EngineAddress): Docker.DockerOptions {
  return "path" in address ? { socketPath: address.path } : { protocol: "http", ...address };
}
