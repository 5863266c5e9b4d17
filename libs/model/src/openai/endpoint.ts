import { type Clock, invalidField, systemClock } from "@drover/kernel";
import OpenAI from "openai";

/** Where an OpenAI-compatible endpoint is and how patiently it is called. */
export interface EndpointOptions {
  /** Including the version path, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The HTTP client; production passes the one of `@drover/egress`. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Until the first piece of an answer arrives, per attempt. Default 60,000. */
  readonly firstByteTimeoutMs?: number;
  /** For the whole call with all its attempts. Default 600,000. */
  readonly totalTimeoutMs?: number;
  /** Attempts after the first, for 429, 5xx and connection faults. Default 3. */
  readonly maxRetries?: number;
  /** The longest single wait before a retry; a longer Retry-After ends the call at once. Default 60,000. */
  readonly maxRetryWaitMs?: number;
  /** Applied to everything the endpoint says before it enters an error message. The key is masked in any case. */
  readonly redact?: (text: string) => string;
  readonly clock?: Clock;
}

/** An endpoint ready to be called: options with their defaults, and the client, whose own retries are off. */
export interface Endpoint {
  readonly client: OpenAI;
  /** Host and port, for messages. */
  readonly host: string;
  readonly firstByteTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxRetryWaitMs: number;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
}

/**
 * Applies the defaults. Throws INVALID_ARGUMENT for a base URL that is not http or https, or that
 * carries credentials. Nothing is read from the process environment.
 */
export function openEndpoint(options: EndpointOptions): Endpoint {
  const url = URL.parse(options.baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw invalidField("base_url", "something else", "an http or https URL without user name and password");
  }
  const totalTimeoutMs = options.totalTimeoutMs ?? 600_000;
  const redact = options.redact ?? ((text) => text);
  return {
    client: createClient(options, totalTimeoutMs),
    host: url.host,
    firstByteTimeoutMs: options.firstByteTimeoutMs ?? 60_000,
    totalTimeoutMs,
    maxRetries: options.maxRetries ?? 3,
    maxRetryWaitMs: options.maxRetryWaitMs ?? 60_000,
    redact: (text) => redact(options.apiKey === "" ? text : text.replaceAll(options.apiKey, "[redacted:api-key]")),
    clock: options.clock ?? systemClock,
  };
}

function createClient(options: EndpointOptions, timeout: number): OpenAI {
  return new OpenAI({
    baseURL: options.baseUrl,
    apiKey: options.apiKey,
    // Explicit nulls: left out, the package would read each of them from the process environment.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: "off",
    maxRetries: 0,
    timeout,
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
}
