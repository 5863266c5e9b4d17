import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One recorded request: path, headers and parsed body. */
interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
  /** Resolves when the client closed the connection before the answer ended. */
  readonly closed: Promise<void>;
}

export type Answer = (response: ServerResponse, request: SeenRequest) => void | Promise<void>;

export interface WireServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly seen: readonly SeenRequest[];
}

/** A local HTTP server that gives the answers in order; the last one repeats. */
export async function startWireServer(...answers: readonly Answer[]): Promise<WireServer> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const closed = new Promise<void>((resolve) => response.on("close", resolve));
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
    const recorded = { path: request.url ?? "", headers: request.headers, body, closed };
    seen.push(recorded);
    await answers[Math.min(seen.length, answers.length) - 1]?.(response, recorded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers 200 with these bytes as an event stream. */
export function stream(...pieces: readonly string[]): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) response.write(piece);
    response.end();
  };
}

/** One SSE frame of a chunk with this delta. */
export function frame(delta: unknown, finish: string | null = null): string {
  return `data: ${JSON.stringify({ model: "m-1", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}

/** Answers with a status and a JSON body. */
export function status(code: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}
