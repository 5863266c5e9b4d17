import { DroverError } from "@drover/kernel";
import { approvalEventsPath } from "./approval-events.ts";
import { type HttpRequest, type HttpResponse, pathOf, sendError } from "./json-answer.ts";
import { taskOfPath } from "./task-events.ts";

/** Who answers what. */
export interface HttpRouteParts {
  readonly translate: (request: HttpRequest, response: HttpResponse) => boolean;
  readonly session: (request: HttpRequest, response: HttpResponse) => Promise<void>;
  readonly taskEvents: (request: HttpRequest, response: HttpResponse, taskId: string) => Promise<void>;
  readonly approvalEvents: (request: HttpRequest, response: HttpResponse) => Promise<void>;
  readonly viewer: (request: HttpRequest, response: HttpResponse) => Promise<void>;
  /** Hears of errors that are our own fault. */
  readonly onFault: (error: unknown) => void;
}

/**
 * The handler of all requests that are not gRPC. Errors are JSON `{code, message, details}`; the handler never
 * throws, and an unread body never holds a connection.
 */
export function createHttpRoutes(parts: HttpRouteParts): (request: HttpRequest, response: HttpResponse) => void {
  return (request, response) => {
    response.on("error", () => {});
    if (parts.translate(request, response)) return;
    route(parts, request, response).catch((error: unknown) => {
      if (!(error instanceof DroverError)) parts.onFault(error);
      if (!request.readableEnded && "shouldKeepAlive" in response) response.shouldKeepAlive = false;
      sendError(response, error);
    });
  };
}

async function route(parts: HttpRouteParts, request: HttpRequest, response: HttpResponse): Promise<void> {
  const path = pathOf(request);
  const task = taskOfPath(path);
  if (task !== undefined) return await parts.taskEvents(request, response, task);
  if (path === approvalEventsPath) return await parts.approvalEvents(request, response);
  if (path === "/session") return await parts.session(request, response);
  if (request.method === "GET" || request.method === "HEAD") return await parts.viewer(request, response);
  throw new DroverError("NOT_FOUND", `There is no method at ${JSON.stringify(path.slice(0, 100))}.`, {
    reason: "PATH_UNKNOWN",
  });
}
