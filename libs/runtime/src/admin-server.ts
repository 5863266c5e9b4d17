import { createServer, type ServerResponse } from "node:http";
import { DroverError, withTimeout } from "@drover/kernel";
import { addressOf, splitAddress } from "./address.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics.ts";

/**
 * Checks by name, e.g. `{ postgres: (signal) => db.ping(signal), bus: () => bus.healthy() }`. A check
 * fails when it returns false, throws, or takes longer than a second.
 */
export type ReadinessChecks = Readonly<Record<string, (signal: AbortSignal) => unknown>>;

/** The admin HTTP server of a service: `/livez`, `/readyz` and `/metrics`. */
export interface AdminServer extends AsyncDisposable {
  /** `host:port` that is really bound. */
  readonly address: string;
}

const checkTimeoutMs = 1000;

/**
 * Starts the admin server. `/livez` answers 200 while the event loop turns; `/readyz` answers 200 or 503
 * with JSON that names each check and its outcome; `/metrics` is the Prometheus text format. It
 * must not be reachable from outside the cluster. Throws when the address cannot be bound.
 */
export async function startAdminServer(options: {
  readonly listen: string;
  readonly metrics: Metrics;
  readonly ready: ReadinessChecks;
  readonly logger: Logger;
}): Promise<AdminServer> {
  const server = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (request, response) => {
    answer(request.method ?? "", request.url ?? "", response, options).catch((error: unknown) => {
      options.logger.error({ err: error }, "admin request failed");
      if (!response.headersSent) send(response, 500, "text/plain", "Internal error.\n");
    });
  });
  const { host, port } = splitAddress(options.listen);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    address: addressOf(server, host),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(
  method: string,
  url: string,
  response: ServerResponse,
  parts: { readonly metrics: Metrics; readonly ready: ReadinessChecks },
): Promise<void> {
  if (method !== "GET" && method !== "HEAD") return send(response, 405, "text/plain", "Allowed: GET.\n");
  switch (url.split("?", 1)[0]) {
    case "/livez":
      return send(response, 200, "text/plain", "ok\n");
    case "/readyz": {
      const report = await readiness(parts.ready);
      return send(response, report.ready ? 200 : 503, "application/json", `${JSON.stringify(report)}\n`);
    }
    case "/metrics":
      return send(response, 200, "text/plain; version=0.0.4; charset=utf-8", await parts.metrics.render());
    default:
      return send(response, 404, "text/plain", "Here are /livez, /readyz and /metrics.\n");
  }
}

/** Runs all checks at once; what a failed one says is safe text, its cause stays inside. */
async function readiness(checks: ReadinessChecks): Promise<{ ready: boolean; checks: Record<string, string> }> {
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await outcomeOf(name, check)] as const),
  );
  return { ready: outcomes.every(([, outcome]) => outcome === "ok"), checks: Object.fromEntries(outcomes) };
}

async function outcomeOf(name: string, check: (signal: AbortSignal) => unknown): Promise<string> {
  try {
    const passed = await withTimeout(`The check ${name}`, checkTimeoutMs, undefined, async (signal) => {
      const late = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      return await Promise.race([check(signal), late]);
    });
    return passed === false ? "failed" : "ok";
  } catch (error) {
    return error instanceof DroverError ? `failed: ${error.message}` : "failed";
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}
