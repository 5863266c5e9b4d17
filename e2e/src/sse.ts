/** One event of a server-sent stream. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

/**
 * Reads a task's event stream from after `lastEventId`. Ends when the server ends it, or, with
 * `cutAfterBytes`, when so many bytes came: wherever that is within an event.
 */
export async function* readSse(
  url: string,
  apiKey: string,
  options: { readonly lastEventId?: string; readonly cutAfterBytes?: number } = {},
): AsyncGenerator<SseEvent, void, undefined> {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(options.lastEventId === undefined ? {} : { "last-event-id": options.lastEventId }),
    },
    signal: abort.signal,
  });
  if (!response.ok || response.body === null)
    throw new Error(`SSE answered ${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length;
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (event !== undefined) yield event;
      }
      if (options.cutAfterBytes !== undefined && bytes >= options.cutAfterBytes) return;
    }
  } finally {
    abort.abort();
  }
}

/** The fields of one block; comments (heartbeats) are no event. */
function parse(block: string): SseEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
  }
  const event = fields.get("event");
  if (event === undefined) return undefined;
  return { id: fields.get("id"), event, data: JSON.parse(fields.get("data") ?? "null") };
}
