import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@drover/kernel";
import { createRpcTransport } from "@drover/rpc";
import { startEmbeddedSuite } from "@drover/suite";
import { type ScriptedModel, startScriptedModel } from "@drover/testkit/scripted-model";
import type { Target } from "./run-evaluation.ts";

/** A suite on the embedded profile with a scripted model, in a data folder of its own, until it is disposed of. */
export async function startTarget(): Promise<Target & { readonly model: ScriptedModel } & AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const dataFolder = mkdtempSync(join(tmpdir(), "drover-evals-"));
  started.defer(() => rmSync(dataFolder, { recursive: true, force: true }));
  const model = started.use(await startScriptedModel());
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_API_KEY: model.apiKey,
    DROVER_MODEL: "scripted-1",
    DROVER_LOG_LEVEL: "error",
    DROVER_SANDBOX_INSTANCE: `evals-${newId()}`,
    DROVER_SANDBOX_POOL_MAX: "0",
    // A budget of time is looked at when the lease is renewed.
    DROVER_LEASE_TTL_MS: "3000",
  };
  const suite = started.use(await startEmbeddedSuite({ dataFolder, environment, gatewayListen: "127.0.0.1:0" }));
  const transport = started.use(createRpcTransport({ addresses: new URL(suite.url).host, audience: "gateway" }));
  const apiKey = readFileSync(suite.keyFile, "utf8").trim();
  const owned = started.move();
  return {
    transport,
    call: { headers: { authorization: `Bearer ${apiKey}` }, timeoutMs: 60_000 },
    model,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
