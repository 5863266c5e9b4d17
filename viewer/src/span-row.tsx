import { duration, shortCount } from "./format.ts";
import { noteOf, tokensOf } from "./span-facts.ts";
import type { SpanSelection } from "./span-selection.ts";
import type { EventView, SpanView } from "./span-view.ts";
import { percentOf, placeOf, type TimeScale } from "./time-scale.ts";
import type { TracePageState } from "./trace-page-state.ts";
import { drawnDepth } from "./visible-rows.ts";

/** What a row is drawn from. */
export interface RowProps {
  readonly state: TracePageState;
  readonly selection: SpanSelection;
  readonly index: number;
  readonly span: SpanView;
}

/** Dots beyond this would only cover each other. */
const mostDots = 40;

/** On a bar narrower than this, in percent, dots would hide it. */
const leastForDots = 1.5;

/** One span: its place in the tree, its bar in time, how long it took and what it used. */
export function SpanRow({ state, selection, index, span }: RowProps) {
  const tree = state.tree.value;
  const scale = state.scale.value;
  const isBranch = (tree.end[index] ?? 0) > index + 1;
  const isOpen = !state.collapsed.value.has(span.id);
  const isSelected = state.selected.value === span.id;
  const endMs = span.endMs ?? scale.toMs;
  const tokens = tokensOf(span);
  const note = noteOf(span);
  const classes = ["row", isSelected ? "selected" : "", span.error === "" ? "" : "failed"].filter(Boolean).join(" ");
  return (
    <div
      class={classes}
      role="treeitem"
      tabIndex={-1}
      aria-level={(tree.depth[index] ?? 0) + 1}
      aria-selected={isSelected}
      aria-expanded={isBranch ? isOpen : undefined}
      data-testid="span-row"
      data-span-id={span.id}
      data-kind={span.kind}
      data-running={span.endMs === undefined}
      onClick={() => selection.select(span.id)}
      onKeyDown={undefined}
    >
      <div class="name" style={{ paddingLeft: `${12 + drawnDepth(tree, index) * 16}px` }}>
        <Toggle open={isOpen} branch={isBranch} onToggle={() => toggle(selection, state, index)} />
        <i class="kind" />
        <span class="text">{span.name}</span>
        {note === "" ? null : <small title={note}>{note}</small>}
      </div>
      <Lane span={span} scale={state.lanes.value} endMs={endMs} />
      <div class="num">{duration(Math.max(0, endMs - span.startMs))}</div>
      <div class="num">{tokens > 0 ? shortCount(tokens) : ""}</div>
    </div>
  );
}

/** Opens or closes the branch at an index of the tree. */
export function toggle(selection: SpanSelection, state: TracePageState, index: number): void {
  selection.toggleRow(state.rows.peek().indexOf(index));
}

/** The small mark that opens and closes a branch; a leaf keeps its place free. */
export function Toggle(props: { readonly open: boolean; readonly branch: boolean; readonly onToggle: () => void }) {
  if (!props.branch) return <span class="toggle" />;
  return (
    <button
      type="button"
      class={props.open ? "toggle open" : "toggle"}
      tabIndex={-1}
      aria-label={props.open ? "Hide what is inside" : "Show what is inside"}
      onClick={(event) => {
        event.stopPropagation();
        props.onToggle();
      }}
    />
  );
}

function Lane({ span, scale, endMs }: { readonly span: SpanView; readonly scale: TimeScale; readonly endMs: number }) {
  const place = placeOf(scale, span.startMs, endMs);
  if (place === undefined) return <div class="lane" />;
  return (
    <div class="lane">
      <u
        class={span.endMs === undefined ? "live" : span.forced ? "forced" : ""}
        style={{ left: `${place.left}%`, width: `${place.width}%` }}
      />
      {place.width < leastForDots ? null : span.events.slice(0, mostDots).map((event) => dot(event, scale))}
    </div>
  );
}

function dot(event: EventView, scale: TimeScale) {
  const left = percentOf(scale, event.timeMs);
  if (left < 0 || left > 100) return null;
  return (
    <s
      key={event.ordinal}
      class={event.kind === "error" ? "error" : ""}
      title={event.kind}
      style={{ left: `${Math.min(99.4, left)}%` }}
    />
  );
}
