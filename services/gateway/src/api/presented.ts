import type { Presented } from "./credentials.ts";
import { type HttpRequest, headerOf } from "./json-answer.ts";

/** What a request of either HTTP version says about its sender. */
export function presentedBy(request: HttpRequest): Presented {
  return {
    authorization: headerOf(request, "authorization"),
    cookie: headerOf(request, "cookie"),
    origin: headerOf(request, "origin"),
    host: headerOf(request, ":authority") ?? headerOf(request, "host"),
  };
}
