/** One event as a browser would deliver it. */
interface ReceivedEvent {
  /** The stream's last event id when the event came. */
  readonly lastId: string;
  readonly hasId: boolean;
  readonly event: string;
  readonly data: string;
}

/** What was read of a stream. */
export interface ReadStream {
  readonly events: readonly ReceivedEvent[];
  readonly comments: readonly string[];
  readonly lastId: string;
  readonly headers: Headers;
  readonly status: number;
}

/**
 * Reads a server-sent event stream with fetch, until it ends or `stopAfterBytes` have come; then the
 * connection is cut and an unfinished event is dropped, as the standard asks.
 */
export async function readEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
  options: { readonly lastId?: string; readonly stopAfterBytes?: number; readonly stopAfterMs?: number } = {},
): Promise<ReadStream> {
  const cut = new AbortController();
  const timer = options.stopAfterMs === undefined ? undefined : setTimeout(() => cut.abort(), options.stopAfterMs);
  const resume: Record<string, string> = options.lastId ? { "last-event-id": options.lastId } : {};
  const response = await fetch(url, { headers: { ...headers, ...resume }, signal: cut.signal });
  let text = "";
  let bytes = 0;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      const left = (options.stopAfterBytes ?? Number.POSITIVE_INFINITY) - bytes;
      bytes += chunk.length;
      text += decoder.decode(chunk.subarray(0, Math.max(0, left)), { stream: true });
      if (bytes >= (options.stopAfterBytes ?? Number.POSITIVE_INFINITY)) cut.abort();
    }
  } catch (error) {
    if (!cut.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return { ...parse(text, options.lastId ?? ""), headers: response.headers, status: response.status };
}

function parse(text: string, startId: string): Pick<ReadStream, "events" | "comments" | "lastId"> {
  const events: ReceivedEvent[] = [];
  const comments: string[] = [];
  let lastId = startId;
  for (const block of text.split("\n\n").slice(0, -1)) {
    let event = "message";
    let hasId = false;
    const data: string[] = [];
    for (const line of block.split("\n")) {
      if (line.startsWith(":")) comments.push(line.slice(1).trim());
      if (line.startsWith("data: ")) data.push(line.slice(6));
      if (line.startsWith("event: ")) event = line.slice(7);
      if (line.startsWith("id: ")) [lastId, hasId] = [line.slice(4), true];
    }
    if (data.length > 0) events.push({ lastId, hasId, event, data: data.join("\n") });
  }
  return { events, comments, lastId };
}
