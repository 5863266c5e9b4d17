import { DroverError, invalidField } from "@drover/kernel";
import { Agent, fetch as undiciFetch } from "undici";
import { type AddressRules, addressPolicy } from "./address-policy.ts";
import { cappedBody, tooLarge } from "./capped-body.ts";
import { pinnedLookup, type Resolver, systemResolver } from "./pinned-lookup.ts";
import { type Hop, nextHop, redirectTarget } from "./redirect.ts";

/** Bounds of one outbound request. */
export interface EgressLimits {
  /** Until a connection stands. Default 10,000. */
  readonly connectTimeoutMs: number;
  /** From sending a hop until its headers are there, connecting included. Default 120,000. */
  readonly firstByteTimeoutMs: number;
  /** Longest silence within a body. Default 120,000. */
  readonly bodyIdleTimeoutMs: number;
  /** Bytes of an answer after decompression. Default 32 MiB. */
  readonly maxResponseBytes: number;
  /** Bytes of an answer's headers. Default 32 KiB. */
  readonly maxHeaderBytes: number;
  /** Redirects that are followed. Default 5. */
  readonly maxRedirects: number;
}

const defaults: EgressLimits = {
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 120_000,
  bodyIdleTimeoutMs: 120_000,
  maxResponseBytes: 32 * 1024 * 1024,
  maxHeaderBytes: 32 * 1024,
  maxRedirects: 5,
};

export interface EgressOptions extends AddressRules {
  readonly limits?: Partial<EgressLimits>;
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolver;
}

/** The one way out. Disposing closes every connection. */
export interface Egress extends AsyncDisposable {
  /**
   * Like the global `fetch`, for a string or URL. Every hop is checked: http and https only, no
   * credentials in the URL, the socket pinned to an address that was checked, private ranges refused
   * unless allowed, credentials dropped when a redirect leaves the origin.
   *
   * Rejects with PERMISSION_DENIED for a refused target, UNAVAILABLE when the host cannot be reached,
   * DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED for the limits, and with the signal's reason after an abort.
   */
  readonly fetch: typeof globalThis.fetch;
}

/** Opens the way out. Throws INVALID_ARGUMENT for rules that cannot be parsed. */
export function createEgress(options: EgressOptions = {}): Egress {
  const limits = { ...defaults, ...options.limits };
  const policy = addressPolicy(options);
  const agent = new Agent({
    connect: {
      lookup: pinnedLookup(policy, options.resolve ?? systemResolver),
      timeout: limits.connectTimeoutMs,
    },
    maxHeaderSize: limits.maxHeaderBytes,
    // The package's own timers are coarse; ours run per hop and per piece of the body.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const send: Sender = (hop, signal) => sendHop(agent, limits, hop, signal);
  return {
    fetch: async (input, init = {}) => {
      let hop = firstHop(input, init);
      for (let followed = 0; ; followed++) {
        policy.checkUrl(hop.url);
        const response = await send(hop, init.signal ?? undefined);
        const target = redirectTarget(response.status, response.headers.get("location"), hop.url);
        if (target === undefined || init.redirect === "manual") return response;
        await response.body?.cancel();
        if (init.redirect === "error" || followed >= limits.maxRedirects) throw tooManyRedirects(hop, followed);
        hop = nextHop(hop, response.status, target);
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

type Sender = (hop: Hop, signal: AbortSignal | undefined) => Promise<Response>;

function firstHop(input: Parameters<typeof fetch>[0], init: RequestInit): Hop {
  if (input instanceof Request) throw invalidField("url", "a Request object", "a string or a URL");
  const url = URL.parse(String(input));
  if (url === null) throw invalidField("url", "something else", "an absolute URL");
  return {
    url,
    method: (init.method ?? "GET").toUpperCase(),
    headers: new Headers(init.headers),
    body: init.body ?? null,
  };
}

async function sendHop(
  agent: Agent,
  limits: EgressLimits,
  hop: Hop,
  parent: AbortSignal | undefined,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(noAnswer(hop, limits)), limits.firstByteTimeoutMs);
  try {
    const answer = await undiciFetch(hop.url, {
      method: hop.method,
      headers: [...hop.headers],
      body: hop.body as never,
      redirect: "manual",
      duplex: "half",
      dispatcher: agent,
      signal: parent === undefined ? late.signal : AbortSignal.any([parent, late.signal]),
    });
    // undici's Response and the global one are the same at run time; their types come from two packages.
    return guarded(answer as unknown as Response, hop, limits);
  } catch (error) {
    if (parent?.aborted) throw parent.reason;
    throw egressError(hop, late.signal.aborted ? late.signal.reason : error);
  } finally {
    clearTimeout(timer);
  }
}

function guarded(answer: Response, hop: Hop, limits: EgressLimits): Response {
  const bounds = { host: hop.url.host, maxBytes: limits.maxResponseBytes, idleMs: limits.bodyIdleTimeoutMs };
  if (Number(answer.headers.get("content-length")) > bounds.maxBytes) {
    answer.body?.cancel().catch(() => {});
    throw tooLarge(bounds);
  }
  const response = new Response(answer.body === null ? null : cappedBody(answer.body, bounds), {
    status: answer.status,
    statusText: answer.statusText,
    headers: [...answer.headers],
  });
  Object.defineProperty(response, "url", { value: hop.url.href });
  return response;
}

function egressError(hop: Hop, caught: unknown): DroverError {
  let code = "";
  for (let error = caught, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if (error instanceof DroverError) return error;
    if ("code" in error && typeof error.code === "string") code = ` (${error.code})`;
  }
  return new DroverError("UNAVAILABLE", `${hop.url.host} cannot be reached${code}.`, {
    reason: "EGRESS_UNREACHABLE",
    cause: caught,
  });
}

function noAnswer(hop: Hop, limits: EgressLimits): DroverError {
  return new DroverError("DEADLINE_EXCEEDED", `${hop.url.host} sent no answer for ${limits.firstByteTimeoutMs} ms.`, {
    reason: "EGRESS_TIMEOUT",
  });
}

function tooManyRedirects(hop: Hop, followed: number): DroverError {
  return new DroverError(
    "FAILED_PRECONDITION",
    `The host ${hop.url.host} redirects once more after ${followed} redirects.`,
    {
      reason: "EGRESS_REDIRECTS",
    },
  );
}
