import { type Clock, DroverError } from "@drover/kernel";
import { GuardedBackend } from "./application/guarded-backend.ts";
import type { ExecBackend, Log } from "./application/ports.ts";
import { confinementOf, type readConfig } from "./config.ts";
import type { Limits } from "./domain/limits.ts";
import { DockerEngine } from "./infrastructure/docker/docker-engine.ts";
import { KubernetesBackend } from "./infrastructure/kubernetes/kubernetes-backend.ts";
import { LocalBackend } from "./infrastructure/local/local-backend.ts";

/** What a backend is opened with besides the configuration. */
export interface BackendParts {
  /** This instance; see `instanceOf`. */
  readonly owner: string;
  /** Images by language. */
  readonly images: ReadonlyMap<string, string>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

type Config = ReturnType<typeof readConfig>;

/** The configured backend behind its isolation level; the self-test begins at once and nothing waits for it but runs. */
export function openBackend(config: Config, parts: BackendParts): GuardedBackend {
  const { images, limits, clock, log } = parts;
  const backend = { docker, kubernetes, local }[config.DROVER_SANDBOX_BACKEND](config, parts);
  const { level } = confinementOf(config);
  if (level === "none") log.warn({ backend: backend.name }, "UNSAFE: programs run without a proven isolation level");
  const guarded = new GuardedBackend({ backend, level, image: images.get("bash") ?? "", limits, clock, log });
  // Without an engine there is nothing to prove; the first run tries again.
  guarded.prove().catch(() => undefined);
  return guarded;
}

function docker(config: Config, { owner, images }: BackendParts): ExecBackend {
  const runtime = config.DROVER_SANDBOX_RUNTIME;
  return new DockerEngine({ host: config.DOCKER_HOST, owner, runtime, images: [...images.values()] });
}

function kubernetes(config: Config, { owner, limits }: BackendParts): ExecBackend {
  return new KubernetesBackend({
    server: config.DROVER_SANDBOX_KUBERNETES_API,
    tokenFile: config.DROVER_SANDBOX_KUBERNETES_TOKEN_FILE,
    caFile: config.DROVER_SANDBOX_KUBERNETES_CA_FILE,
    namespace: config.DROVER_SANDBOX_KUBERNETES_NAMESPACE,
    runtimeClass: config.DROVER_SANDBOX_KUBERNETES_RUNTIME_CLASS,
    owner,
    limits,
  });
}

function local(config: Config, { owner }: BackendParts): ExecBackend {
  if (!config.DROVER_SANDBOX_ALLOW_UNSAFE_LOCAL) {
    const message =
      "DROVER_SANDBOX_BACKEND=local runs programs on this host without any isolation; set DROVER_SANDBOX_ALLOW_UNSAFE_LOCAL=true to accept that.";
    throw new DroverError("FAILED_PRECONDITION", message, { reason: "UNSAFE_BACKEND" });
  }
  return new LocalBackend({ folder: config.DROVER_SANDBOX_LOCAL_FOLDER, owner });
}
