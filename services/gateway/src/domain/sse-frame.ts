/** One event of a server-sent event stream. */
export interface SseEvent {
  /** What `Last-Event-ID` will say after it; absent where a reconnect must not begin after it. */
  readonly id?: string;
  readonly event: string;
  readonly data: string;
}

/**
 * The wire form of an event (WHATWG HTML, "Server-sent events"). Line breaks in the data become
 * further `data:` lines, which the reader joins again; the name and the id hold none.
 */
export function sseFrame({ id, event, data }: SseEvent): string {
  const head = id === undefined ? "" : `id: ${oneLine(id)}\n`;
  const body = data.split(/\r\n|\n|\r/).map((line) => `data: ${line}\n`);
  return `${head}event: ${oneLine(event)}\n${body.join("")}\n`;
}

/** A line that readers pass over; it keeps proxies from cutting a quiet stream. */
export function sseComment(text: string): string {
  return `: ${oneLine(text)}\n\n`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, " ");
}
