import { existsSync } from "node:fs";

/** Chromium without what a test does not need. */
export const quietFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where Chromium is on this machine; throws with what to do where it is not. */
export function chromiumPath(): string {
  const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
  const found = places.find((place) => place !== undefined && existsSync(place));
  if (found === undefined) throw new Error("The viewer's test needs Chromium; run `make browser`.");
  return found;
}
