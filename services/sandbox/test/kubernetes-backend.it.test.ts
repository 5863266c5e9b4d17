import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { defaultLimitPolicy } from "../src/domain/limits.ts";
import { KubernetesBackend } from "../src/infrastructure/kubernetes/kubernetes-backend.ts";
import { execBackendContract } from "./exec-backend.contract.ts";
import { startFakeApiServer } from "./kubernetes/fake-api-server.ts";
import { shippedGrants } from "./kubernetes/manifests.ts";

execBackendContract("kubernetes, whose API server is a fake and whose node is real", async () => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startFakeApiServer());
  const folder = await mkdtemp(join(tmpdir(), "drover-kube-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, `${server.token}\n`);
  const { url, namespace } = server;
  const access = { server: url, tokenFile, caFile: "", namespace, limits: defaultLimitPolicy.defaults };
  const parts = stack.move();
  return {
    backend: new KubernetesBackend({ ...access, runtimeClass: "gvisor", owner: "host:7702/boot" }),
    image: "drover/sandbox-bash:2",
    missingImage: "drover/absent:1",
    async [Symbol.asyncDispose]() {
      expect(server.node.names()).toEqual([]);
      expect(server.used).toEqual(shippedGrants());
      for (const { spec } of server.manifests)
        expect(spec).toMatchObject({ runtimeClassName: "gvisor", restartPolicy: "Never" });
      expect(new Set(server.protocols)).toEqual(new Set(["v5.channel.k8s.io"]));
      await parts.disposeAsync();
    },
  };
});
