export type { EndpointOptions } from "./endpoint.ts";
export { createOpenAiGateway, type OpenAiGatewayOptions } from "./model-gateway.ts";
export { createOpenAiEmbedder, type OpenAiEmbedderOptions } from "./text-embedder.ts";
