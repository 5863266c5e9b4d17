import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { DockerEngine } from "../src/infrastructure/docker/docker-engine.ts";
import { execBackendContract } from "./exec-backend.contract.ts";

const image = "drover/sandbox-bash:6";
const host = "unix:///var/run/docker.sock";

for (const runtime of ["runc", "runsc"]) {
  execBackendContract(`docker with ${runtime}`, async () => {
    const owner = `contract-${randomUUID()}`;
    const backend = new DockerEngine({ host, owner, runtime, images: [image] });
    return {
      backend,
      image,
      missingImage: "drover/absent:1",
      async [Symbol.asyncDispose]() {
        const left = await backend.found(AbortSignal.timeout(10_000));
        expect(left.filter((container) => container.owner === owner)).toEqual([]);
      },
    };
  });
}
