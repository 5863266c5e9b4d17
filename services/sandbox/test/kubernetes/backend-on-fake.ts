import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { imageOf } from "../../src/domain/language.ts";
import { languages } from "../../src/domain/languages.ts";
import { defaultLimitPolicy } from "../../src/domain/limits.ts";
import { KubernetesBackend, type KubernetesOptions } from "../../src/infrastructure/kubernetes/kubernetes-backend.ts";
import { type FakeApiServer, startFakeApiServer } from "./fake-api-server.ts";

/** A Kubernetes backend before a fake API server. */
export interface OnFake extends AsyncDisposable {
  readonly server: FakeApiServer;
  readonly backend: KubernetesBackend;
  readonly options: KubernetesOptions;
  /** Image with bash. */
  readonly image: string;
}

/** Starts a fake API server and opens the backend on it, with a token file of its own. */
export async function openOnFake(more: Partial<KubernetesOptions> = {}): Promise<OnFake> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startFakeApiServer());
  const folder = await mkdtemp(join(tmpdir(), "drover-kube-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, `${server.token}\n`);
  const { url, namespace } = server;
  const limits = { ...defaultLimitPolicy.defaults, memoryBytes: 256 << 20 };
  const access = { server: url, tokenFile, caFile: "", namespace };
  const options = { ...access, limits, runtimeClass: "", owner: "host:7702/boot", ...more };
  const bash = languages.find(({ name }) => name === "bash");
  if (bash === undefined) throw new Error("There is no bash.");
  const parts = stack.move();
  return {
    server,
    options,
    backend: new KubernetesBackend(options),
    image: imageOf(bash, "drover/sandbox-"),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
