import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { answerFrames, completionOf, promptTokens, wholeAnswer } from "./completion.ts";
import { embeddingsAnswer } from "./embeddings.ts";
import { asksForFacts, rememberScript } from "./fact-extraction.ts";
import { paymentPendingScript } from "./payment-pending.ts";
import { checkRequest } from "./request-check.ts";
import type { Script, ScriptedTurn, WireMessage, WireTool } from "./script.ts";
import { errorBody, type WireError, wireError } from "./wire-error.ts";

export interface ScriptedModelOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
  /** The key that requests must carry; without it any non-empty bearer key is accepted. */
  readonly apiKey?: string;
  /** Default: the demo's script. */
  readonly script?: Script;
}

/** A chat request as the server got it. */
export interface TakenRequest {
  readonly body: Readonly<Record<string, unknown>>;
  /** True once the client closed the connection before the answer was complete. */
  readonly aborted: boolean;
  /** The status it was answered with; 0 while it is open. */
  readonly status: number;
}

/** A running scripted model. Disposing closes its connections. */
export interface ScriptedModel extends AsyncDisposable {
  /** With the version path, as a value for OPENAI_BASE_URL. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Every chat request since the start, those for facts apart. */
  readonly requests: readonly TakenRequest[];
  /** Every request for the facts in what was said, which a script of its own answers. */
  readonly extractions: readonly TakenRequest[];
  /** Replaces the script for the requests that follow. */
  use(script: Script): void;
  /** Replaces the script of the requests for facts that follow. */
  extractBy(script: Script): void;
}

/**
 * Starts a real HTTP server that speaks the OpenAI protocol: chat completions (streamed and whole),
 * embeddings and the list of models. It is as strict as the strictest provider: what such a one would
 * refuse is answered with 400 and an error object. What it says is decided by a script.
 */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const host = options.host ?? "127.0.0.1";
  const state: State = {
    script: options.script ?? paymentPendingScript,
    extractor: rememberScript,
    requests: [],
    extractions: [],
    apiKey: options.apiKey,
  };
  const server = createServer((request, response) => {
    answer(state, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, wireError(500, `The script failed: ${String(error)}`));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://${host}:${port}/v1`,
    apiKey: options.apiKey ?? "scripted-model",
    requests: state.requests,
    extractions: state.extractions,
    use: (script) => {
      state.script = script;
    },
    extractBy: (script) => {
      state.extractor = script;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface State {
  script: Script;
  extractor: Script;
  readonly requests: Taken[];
  readonly extractions: Taken[];
  readonly apiKey: string | undefined;
}

type Taken = { -readonly [K in keyof TakenRequest]: TakenRequest[K] };

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url?.split("?")[0]}`;
  const body = await readJson(request);
  if (!isAuthorized(state, request)) {
    return sendError(response, wireError(401, "Incorrect API key provided.", "invalid_api_key"));
  }
  if (route === "POST /v1/chat/completions") return answerChat(state, body, response);
  if (route === "POST /v1/embeddings") {
    const result = embeddingsAnswer(body);
    return "error" in result ? sendError(response, result.error) : sendJson(response, 200, result.json);
  }
  if (route === "GET /v1/models") {
    const models = ["drover-scripted", "drover-scripted-embedding"].map((id) => ({
      id,
      object: "model",
      owned_by: "drover",
    }));
    return sendJson(response, 200, JSON.stringify({ object: "list", data: models }));
  }
  return sendError(response, wireError(404, `Invalid URL (${route})`));
}

async function answerChat(state: State, body: unknown, response: ServerResponse): Promise<void> {
  const refusal = checkRequest(body);
  const fields = (body ?? {}) as Readonly<Record<string, unknown>>;
  const taken: Taken = { body: fields, aborted: false, status: 0 };
  const closed = new AbortController();
  response.on("close", () => {
    taken.aborted = !response.writableFinished;
    closed.abort();
  });
  const forFacts = refusal === undefined && asksForFacts(fields.messages as readonly WireMessage[]);
  const list = forFacts ? state.extractions : state.requests;
  list.push(taken);
  const finish = (status: number) => {
    taken.status = status;
  };
  if (refusal !== undefined) {
    finish(refusal.status);
    return sendError(response, refusal);
  }
  const messages = fields.messages as readonly WireMessage[];
  const tools = (fields.tools ?? []) as readonly WireTool[];
  const model = String(fields.model);
  const facts = { model, stream: fields.stream === true, turn: list.length - 1, body: fields };
  const turn = await (forFacts ? state.extractor : state.script)(messages, tools, facts);
  if (!(await pause(turn.delayMs, closed.signal))) return;
  const status = turn.status ?? 200;
  finish(status);
  if (status !== 200) return sendError(response, wireError(status, turn.errorMessage ?? "Refused."), turn.headers);
  const completion = completionOf(turn, model, promptTokens(messages, fields.tools));
  if (!facts.stream) return sendJson(response, 200, wholeAnswer(completion), turn.headers);
  const options = fields.stream_options as { readonly include_usage?: boolean } | undefined;
  await sendStream(response, answerFrames(completion, options?.include_usage === true), turn, closed.signal);
}

async function sendStream(
  response: ServerResponse,
  frames: Iterable<string>,
  turn: ScriptedTurn,
  closed: AbortSignal,
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    ...turn.headers,
  });
  let sent = 0;
  for (const frame of frames) {
    if (turn.dropAfterChunks !== undefined && sent++ >= turn.dropAfterChunks) return void response.destroy();
    if (!response.write(frame))
      await new Promise<void>((resolve) => void response.once("drain", resolve).once("close", resolve));
    if (closed.aborted || !(await pause(turn.chunkDelayMs, closed))) return;
  }
  response.end();
}

/** Waits; false when the client went away meanwhile. */
async function pause(ms: number | undefined, closed: AbortSignal): Promise<boolean> {
  if (ms === undefined || ms <= 0) return !closed.aborted;
  return wait(ms, true, { signal: closed }).catch(() => false);
}

function isAuthorized(state: State, request: IncomingMessage): boolean {
  const key = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
  return key !== undefined && (state.apiKey === undefined || key === state.apiKey);
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  json: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(json);
}

function sendError(response: ServerResponse, error: WireError, headers?: Readonly<Record<string, string>>): void {
  sendJson(response, error.status, errorBody(error), headers);
}
