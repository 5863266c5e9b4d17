import type { Payload } from "@drover/proto/trace/v1/trace";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isSignedOut, messageOf, traces } from "./api.ts";
import { count } from "./format.ts";
import { readableText } from "./readable-text.ts";
import { sessionEnded } from "./session.ts";
import type { SpanView } from "./span-view.ts";

/** Input or output of a span, loaded when it is looked at, and again when the span changed. Always text, never markup. */
export function PayloadView(props: {
  readonly traceId: string;
  readonly span: SpanView;
  readonly slot: "input" | "output";
}) {
  const { traceId, span, slot } = props;
  const payload = useSignal<Payload | "none" | undefined>(undefined);
  const problem = useSignal("");
  useEffect(() => {
    const leaving = new AbortController();
    const load = async () => {
      const { payloads } = await traces.getSpan({ traceId, spanId: span.id }, { signal: leaving.signal });
      payload.value = payloads.find((one) => one.slot === slot) ?? "none";
      problem.value = "";
    };
    load().catch((error: unknown) => {
      if (leaving.signal.aborted) return;
      if (isSignedOut(error)) sessionEnded();
      else problem.value = messageOf(error);
    });
    return () => leaving.abort();
  }, [traceId, span.id, span.revision, slot]);
  if (problem.value !== "") return <p class="error">{problem.value}</p>;
  if (payload.value === undefined) return <p class="notice-hint">Loading</p>;
  if (payload.value === "none") {
    return <p class="notice-hint">{span.endMs === undefined ? `No ${slot} yet.` : `This span recorded no ${slot}.`}</p>;
  }
  const { text, totalCharacters } = payload.value;
  const total = Number(totalCharacters);
  return (
    <>
      <p class="notice-hint" data-testid="payload-size">
        {total > text.length
          ? `${count(text.length)} of ${count(total)} characters; the rest was not recorded`
          : `${count(total)} characters`}
      </p>
      <pre data-testid={`payload-${slot}`}>{readableText(text)}</pre>
    </>
  );
}
