import { createEgress, type Egress } from "@drover/egress";
import type { ModelGateway } from "@drover/model";
import { createOpenAiGateway } from "@drover/model/openai";
import { redact } from "@drover/redaction";

/** Where the model is that extracts facts. */
export interface ExtractionEndpoint {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly maxRetries: number;
  readonly firstByteTimeoutMs: number;
  readonly totalTimeoutMs: number;
}

/** The model, reached through the one way out. Its own host is the only private one that may be called. */
export function openExtractionModel(endpoint: ExtractionEndpoint): {
  readonly model: ModelGateway;
  readonly egress: Egress;
} {
  const { hostname } = new URL(endpoint.baseUrl);
  const host = hostname.replace(/^\[|\]$/g, "");
  const egress = createEgress({ allowHosts: [host], allowPrivate: [host] });
  const model = createOpenAiGateway({ ...endpoint, fetch: egress.fetch, redact: (text) => redact(text).text });
  return { model, egress };
}
