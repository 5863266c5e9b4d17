import { DroverError, throwIfAborted } from "@drover/kernel";
import type { ModelEvent, ModelGateway, ModelRequest } from "../gateway.ts";
import { countMessages, countTokens, countTools } from "../tokens.ts";
import { callScope, withAttempts } from "./attempt.ts";
import { type Endpoint, type EndpointOptions, openEndpoint } from "./endpoint.ts";
import { endpointError } from "./endpoint-error.ts";
import { TurnReader, type WireChunk } from "./turn-reader.ts";
import { wireRequest } from "./wire-request.ts";

export interface OpenAiGatewayOptions extends EndpointOptions {
  /** The model asked when a request names none. */
  readonly model: string;
}

/**
 * A {@link ModelGateway} for any endpoint that speaks the OpenAI chat completions protocol. Faults
 * before the first chunk are tried again within `maxRetries`; after it the turn fails as a whole,
 * because a part of it was already shown.
 */
export function createOpenAiGateway(options: OpenAiGatewayOptions): ModelGateway {
  const endpoint = openEndpoint(options);
  const habits: EndpointHabits = { includeUsage: true };
  return {
    decide: (request, { signal }) => streamTurn(endpoint, habits, request, request.model ?? options.model, signal),
  };
}

/** What was learned about an endpoint: some refuse `stream_options`. */
interface EndpointHabits {
  includeUsage: boolean;
}

async function* streamTurn(
  endpoint: Endpoint,
  habits: EndpointHabits,
  request: ModelRequest,
  model: string,
  parent: AbortSignal,
): AsyncGenerator<ModelEvent> {
  using scope = callScope(endpoint, parent);
  const turn = new TurnReader(request.toolChoice === "none" ? [] : (request.tools ?? []).map(({ name }) => name));
  const opened = await openStream(endpoint, habits, request, model, scope.signal);
  try {
    for (let next = opened.first; next.done !== true; next = await opened.rest.next()) {
      // `yield*` would wait three times for each event.
      for (const event of turn.read(next.value)) yield event;
    }
  } catch (error) {
    throw endpointError(endpoint, error, scope.signal);
  } finally {
    opened.close();
  }
  // The client ends the iteration without an error when the signal aborts.
  throwIfAborted(scope.signal);
  if (!turn.finished) {
    throw new DroverError("UNAVAILABLE", `The answer of the model endpoint ${endpoint.host} ended before its end.`, {
      reason: "MODEL_STREAM_INCOMPLETE",
    });
  }
  const promptTokens = () => countMessages(request.messages) + countTools(request.tools ?? []);
  yield turn.reply(model, promptTokens, countTokens);
}

interface OpenedStream {
  readonly first: IteratorResult<WireChunk>;
  readonly rest: AsyncIterator<WireChunk>;
  /** Closes the connection when it is still open. */
  close(): void;
}

async function openStream(
  endpoint: Endpoint,
  habits: EndpointHabits,
  request: ModelRequest,
  model: string,
  signal: AbortSignal,
): Promise<OpenedStream> {
  const open = () =>
    withAttempts(endpoint, signal, async (attemptSignal) => {
      const params = wireRequest(request, model, habits.includeUsage);
      const stream = await endpoint.client.chat.completions.create(params, { signal: attemptSignal });
      const rest = (stream as AsyncIterable<WireChunk>)[Symbol.asyncIterator]();
      const first = await rest.next();
      throwIfAborted(attemptSignal);
      return { first, rest, close: () => stream.controller.abort() };
    });
  try {
    return await open();
  } catch (error) {
    if (!habits.includeUsage || !refusesUsageOption(error)) throw error;
    habits.includeUsage = false;
    return open();
  }
}

function refusesUsageOption(error: unknown): boolean {
  return error instanceof DroverError && error.code === "INVALID_ARGUMENT" && /stream_options/.test(error.message);
}
