import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { DroverError } from "@drover/kernel";
import { type AttachOptions, attach } from "./attach.ts";
import { type KubeAccess, KubeCredentials } from "./kube-access.ts";
import { aborted, away } from "./kube-errors.ts";
import type { PodStream } from "./pod-stream.ts";

/** What may be asked of Pods, as roles name it, and the method that asks it. */
export const podVerbs = { create: "POST", get: "GET", list: "GET", watch: "GET", delete: "DELETE" } as const;

/** One request. */
export interface KubeCall {
  readonly verb: keyof typeof podVerbs;
  /** Path with its query. */
  readonly path: string;
  readonly body?: unknown;
}

/** An answer of the API server, whatever its status. */
export interface KubeAnswer {
  readonly status: number;
  readonly body: unknown;
  /** When the server wants to be asked again. */
  readonly retryAfterMs?: number;
}

const attempts = 4;
const firstPauseMs = 100;
const longestPauseMs = 10_000;
const answerTimeoutMs = 15_000;

/**
 * The few calls that Pods need. A server that does not answer is UNAVAILABLE, reason ENGINE_UNAVAILABLE. What the server
 * turned away unseen (429, or 401 while a token is rotated) is asked again, as is everything but a creation after a
 * failure of which nobody knows how far it came.
 */
export class KubeClient {
  readonly #server: string;
  readonly #credentials: KubeCredentials;

  constructor(access: KubeAccess) {
    this.#server = access.server;
    this.#credentials = new KubeCredentials(access);
  }

  async call(call: KubeCall, signal: AbortSignal): Promise<KubeAnswer> {
    for (let attempt = 1; ; attempt++) {
      const seen = await this.#once(call, signal).catch((error: unknown) => DroverError.from(error));
      const last = attempt === attempts || !isWorthAgain(call, seen, attempt);
      if (last && seen instanceof DroverError) throw seen;
      if (last) return seen as KubeAnswer;
      const pause = Math.min(seen.retryAfterMs ?? 0, longestPauseMs);
      const own = firstPauseMs * 2 ** (attempt - 1);
      await sleep(seen instanceof DroverError ? own : Math.max(pause, own), undefined, { signal }).catch(() => {
        throw aborted(signal);
      });
    }
  }

  /** Lines of an answer that goes on; ends where the server or the connection ends it. */
  async *lines(call: KubeCall, signal: AbortSignal): AsyncGenerator<unknown> {
    const response = await this.#send(call, signal);
    if (response.statusCode !== 200) {
      response.resume();
      return;
    }
    response.setEncoding("utf8");
    try {
      let rest = "";
      for await (const chunk of response) {
        const lines = (rest + String(chunk)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield parsed(line);
      }
    } finally {
      response.destroy();
    }
  }

  /** The streams of a running container; resolves when they are attached. */
  async attach(path: string, options: AttachOptions, signal: AbortSignal): Promise<PodStream> {
    const { headers, ca } = await this.#credentials.read();
    const url = new URL(path, this.#server.replace(/^http/, "ws"));
    return await attach({ url, headers, ...(ca === undefined ? {} : { ca }) }, options, signal);
  }

  async #once(call: KubeCall, signal: AbortSignal): Promise<KubeAnswer> {
    const response = await this.#send(call, AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]), signal);
    const content = await text(response).catch((error: unknown) => {
      throw signal.aborted ? aborted(signal) : away(error);
    });
    const after = Number(response.headers["retry-after"]);
    const wait = Number.isFinite(after) && after > 0 ? { retryAfterMs: after * 1000 } : {};
    return { status: response.statusCode ?? 0, body: parsed(content), ...wait };
  }

  async #send({ verb, path, body }: KubeCall, signal: AbortSignal, given = signal): Promise<IncomingMessage> {
    const { headers, agent } = await this.#credentials.read();
    const url = new URL(path, this.#server);
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    // Without its length the body of a DELETE would be read as another request.
    const type =
      content === undefined ? {} : { "content-type": "application/json", "content-length": String(content.length) };
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const answer = Promise.withResolvers<IncomingMessage>();
    const options = {
      agent,
      signal,
      method: podVerbs[verb],
      headers: { ...headers, ...type, accept: "application/json" },
    };
    const request = send(url, options, answer.resolve);
    request.on("error", answer.reject);
    request.end(content);
    try {
      return await answer.promise;
    } catch (error) {
      throw given.aborted ? aborted(given) : away(error);
    }
  }
}

function isWorthAgain({ verb }: KubeCall, seen: KubeAnswer | DroverError, attempt: number): boolean {
  if (seen instanceof DroverError) return seen.reason === "ENGINE_UNAVAILABLE" && verb !== "create";
  if (seen.status === 401) return attempt === 1;
  return seen.status === 429 || (seen.status >= 500 && verb !== "create");
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return {};
  }
}
