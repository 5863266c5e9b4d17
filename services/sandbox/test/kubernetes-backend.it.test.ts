import { expect } from "vitest";
import { execBackendContract } from "./exec-backend.contract.ts";
import { openOnFake } from "./kubernetes/backend-on-fake.ts";
import { shippedGrants } from "./kubernetes/manifests.ts";

execBackendContract("kubernetes, whose API server is a fake and whose node is real", async () => {
  const fake = await openOnFake({ runtimeClass: "gvisor" });
  const { server, backend, image } = fake;
  return {
    backend,
    image,
    missingImage: "drover/absent:1",
    async [Symbol.asyncDispose]() {
      const left = server.node.names();
      await fake[Symbol.asyncDispose]();
      expect(left).toEqual([]);
      expect(server.used).toEqual(shippedGrants());
      for (const { spec } of server.manifests)
        expect(spec).toMatchObject({ runtimeClassName: "gvisor", restartPolicy: "Never" });
      expect(new Set(server.protocols)).toEqual(new Set(["v5.channel.k8s.io"]));
    },
  };
});
