import { randomUUID } from "node:crypto";
import { DockerEngine } from "../src/infrastructure/docker/docker-engine.ts";
import { execBackendContract } from "./exec-backend.contract.ts";

const image = "drover/sandbox-bash:4";

for (const runtime of ["runc", "runsc"]) {
  execBackendContract(`docker with ${runtime}`, async () => ({
    backend: new DockerEngine({
      host: "unix:///var/run/docker.sock",
      owner: `contract-${randomUUID()}`,
      runtime,
      images: [image],
    }),
    image,
    missingImage: "drover/absent:1",
    [Symbol.asyncDispose]: async () => undefined,
  }));
}
