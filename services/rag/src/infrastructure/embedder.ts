import { createEgress, type Egress } from "@drover/egress";
import { createHashEmbedder, type Embedder } from "@drover/model";
import { createOpenAiEmbedder } from "@drover/model/openai";
import { redact } from "@drover/redaction";

/** Where an embedding model is. */
interface Endpoint {
  readonly model: string;
  readonly dimensions: number;
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** The embedder of an endpoint, or the built-in one; disposing closes its connections. */
export function openEmbedder(endpoint: Endpoint | undefined): Embedder & AsyncDisposable {
  if (endpoint === undefined) return { ...createHashEmbedder(), [Symbol.asyncDispose]: async () => undefined };
  // The operator chose this host, which is often one of the private network.
  const host = new URL(endpoint.baseUrl).hostname.replace(/^\[(.*)\]$/, "$1");
  const egress: Egress = createEgress({ allowPrivate: [host] });
  const embedder = createOpenAiEmbedder({
    ...endpoint,
    fetch: egress.fetch,
    redact: (text) => redact(text).text,
    totalTimeoutMs: 120_000,
  });
  return { ...embedder, [Symbol.asyncDispose]: () => egress[Symbol.asyncDispose]() };
}
