import { effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { RoundRow } from "./round-row.tsx";
import { SpanRow } from "./span-row.tsx";
import type { SpanSelection } from "./span-selection.ts";
import type { TracePageState } from "./trace-page-state.ts";

/** Height of every row in pixels; the style sheet has the same. */
const rowHeight = 28;
/** Rows drawn above and below what is seen, so that scrolling shows no gap. */
const margin = 8;

/** Tree and waterfall. Only the rows in sight exist, so that 50,000 scroll like 50. */
export function SpanRows({ state, selection }: { readonly state: TracePageState; readonly selection: SpanSelection }) {
  const list = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 800 });
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    const measure = () => {
      view.value = { top: element.scrollTop, height: element.clientHeight };
      selection.page = Math.max(1, Math.floor(element.clientHeight / rowHeight) - 1);
    };
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    const stopShowing = effect(() => bringIntoView(element, selection.shown.value.row));
    const stopFollowing = effect(() => {
      if (state.follow.value) element.scrollTop = state.rows.value.length * rowHeight;
    });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", measure);
      stopShowing();
      stopFollowing();
    };
  }, []);

  const tree = state.tree.value;
  const rows = state.rows.value;
  const first = Math.max(0, Math.floor(view.value.top / rowHeight) - margin);
  const last = Math.min(rows.length, Math.ceil((view.value.top + view.value.height) / rowHeight) + margin);
  const drawn = [];
  for (let row = first; row < last; row++) {
    const index = rows[row] ?? 0;
    const span = tree.spans[index];
    if (span === undefined) continue;
    const props = { state, selection, index, span };
    drawn.push(span.kind === "round" ? <RoundRow key={span.id} {...props} /> : <SpanRow key={span.id} {...props} />);
  }
  const pauseFollowing = (event: WheelEvent) => {
    if (event.deltaY < 0) state.follow.value = false;
  };
  return (
    <div
      ref={list}
      class="rows"
      role="tree"
      aria-label="Spans"
      tabIndex={0}
      data-testid="span-rows"
      data-row-count={rows.length}
      onWheel={pauseFollowing}
    >
      {rows.length === 0 ? <p class="nothing">No span matches.</p> : null}
      <div class="spacer" style={{ height: `${rows.length * rowHeight}px` }}>
        <div class="window" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {drawn}
        </div>
      </div>
    </div>
  );
}

function bringIntoView(element: HTMLElement, row: number): void {
  if (row < 0) return;
  const top = row * rowHeight;
  if (top < element.scrollTop) element.scrollTop = Math.max(0, top - rowHeight);
  else if (top + rowHeight > element.scrollTop + element.clientHeight) {
    element.scrollTop = top - element.clientHeight + 2 * rowHeight;
  }
}
