import { signal } from "@preact/signals";
import { spanHash, spanIn } from "./route.ts";

/** The address's path, kept up with the browser's own buttons. */
export const path = signal(location.pathname);

/** The span that the address names; empty for none. */
export const hashSpan = signal(spanIn(location.hash));

function read(): void {
  path.value = location.pathname;
  hashSpan.value = spanIn(location.hash);
}

addEventListener("popstate", read);
addEventListener("hashchange", read);

/** Goes to another page of the application. */
function navigate(to: string): void {
  history.pushState(null, "", to);
  read();
}

/** Names a span in the address without a step in the history for each. */
export function showSpanInAddress(spanId: string): void {
  history.replaceState(null, "", `${location.pathname}${spanHash(spanId)}`);
  hashSpan.value = spanId;
}

/** Handler for links within the application; leaves new tabs and the like to the browser. */
export function followLink(event: MouseEvent): void {
  const link = event.currentTarget;
  if (!(link instanceof HTMLAnchorElement)) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  navigate(link.pathname);
}
