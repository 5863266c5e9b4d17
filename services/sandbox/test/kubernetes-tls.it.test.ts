import { execFile } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";
import { promisify } from "node:util";
import { newId } from "@drover/kernel";
import { expect, test } from "vitest";
import { KubernetesBackend } from "../src/infrastructure/kubernetes/kubernetes-backend.ts";
import { openOnFake } from "./kubernetes/backend-on-fake.ts";

const run = promisify(execFile);

/** A certificate for 127.0.0.1 that is its own authority. */
async function certificate(folder: string, name: string) {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  await run("openssl", ["req", "-x509", ...kind, ...subject, "-keyout", key, "-out", cert]);
  return { key, cert };
}

test("over TLS requests and streams take the authority of the file, as it is now, and no other", async () => {
  await using on = await openOnFake();
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "drover-kube-tls-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const [its, other] = await Promise.all([certificate(folder, "its"), certificate(folder, "other")]);
  const inner = Number(new URL(on.server.url).port);
  const options = { key: await readFile(its.key), cert: await readFile(its.cert) };
  const tunnel = createServer(options, (socket) => {
    const behind = connect(inner, "127.0.0.1");
    pipeline(socket, behind, socket, () => undefined);
  });
  tunnel.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(tunnel, "listening");
  stack.defer(() => void tunnel.close());
  const caFile = join(folder, "ca.crt");
  const server = `https://127.0.0.1:${(tunnel.address() as AddressInfo).port}`;
  const backend = new KubernetesBackend({ ...on.options, server, caFile });
  const signal = () => AbortSignal.timeout(30_000);

  await copyFile(other.cert, caFile);
  expect(await backend.health(signal())).toMatchObject({
    ready: false,
    problem: expect.stringContaining("certificate"),
  });
  await copyFile(its.cert, caFile);
  expect(await backend.health(signal())).toMatchObject({ ready: true });
  const { limits } = on.options;
  const request = { runId: newId(), taskId: "", tenant: "t", image: on.image, limits, lifetimeMs: 60_000 };
  await using container = await backend.start(request, signal());
  expect(container.alive).toBe(true);
});
