import type { SpanView } from "./span-view.ts";

/** A span for tests: a finished tool call of 10 ms unless told otherwise. */
export function span(parts: Partial<SpanView> & { readonly id: string }): SpanView {
  return {
    parentId: "",
    name: parts.id,
    kind: "tool",
    service: "orchestrator",
    placeholder: false,
    forced: false,
    startMs: 0,
    endMs: (parts.startMs ?? 0) + 10,
    error: "",
    attributes: {},
    events: [],
    sequence: 0,
    revision: 1,
    ...parts,
  };
}
