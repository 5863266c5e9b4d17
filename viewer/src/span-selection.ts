import { type Signal, signal } from "@preact/signals";
import type { KeyState } from "./keyboard.ts";
import type { TracePageState } from "./trace-page-state.ts";

/** Which row is selected, and what moves the selection. */
export class SpanSelection {
  /** Row that the list must bring into view, with a number that grows so that the same row can be asked again. */
  readonly shown: Signal<{ readonly row: number; readonly asked: number }> = signal({ row: -1, asked: 0 });
  /** Rows that fit on the screen; the list keeps it. */
  page = 20;
  readonly #state: TracePageState;
  #wanted = "";

  constructor(state: TracePageState) {
    this.#state = state;
  }

  /** True while the address names a span that has not arrived. */
  get waits(): boolean {
    return this.#wanted !== "";
  }

  /** What the keyboard needs to know. */
  keyState(): KeyState {
    const { tree, rows, collapsed } = this.#state;
    const index = tree.peek().indexOf.get(this.#state.selected.peek());
    const row = index === undefined ? -1 : rowOf(rows.peek(), index);
    const isLeaf = index === undefined || (tree.peek().end[index] ?? 0) === index + 1;
    const isClosed = collapsed.peek().has(this.#state.selected.peek());
    const parent = index === undefined ? -1 : (tree.peek().parent[index] ?? -1);
    return {
      rows: rows.peek().length,
      row,
      branch: isLeaf ? "leaf" : isClosed ? "closed" : "open",
      parentRow: parent < 0 ? -1 : rowOf(rows.peek(), parent),
      page: this.page,
    };
  }

  select(spanId: string): void {
    this.#wanted = "";
    this.#state.selected.value = spanId;
  }

  selectRow(row: number): void {
    const span = this.#state.tree.peek().spans[this.#state.rows.peek()[row] ?? -1];
    if (span === undefined) return;
    this.select(span.id);
    this.#show(row);
  }

  toggleRow(row: number): void {
    const span = this.#state.tree.peek().spans[this.#state.rows.peek()[row] ?? -1];
    if (span === undefined) return;
    const collapsed = new Set(this.#state.collapsed.peek());
    if (!collapsed.delete(span.id)) collapsed.add(span.id);
    this.#state.collapsed.value = collapsed;
  }

  /** Selects a span that may not have arrived yet, and brings it into view once it has. */
  reveal(spanId: string): void {
    const { tree, selected } = this.#state;
    if (spanId !== "" && spanId !== selected.peek()) this.#wanted = spanId;
    if (this.#wanted === "") return;
    const index = tree.value.indexOf.get(this.#wanted);
    if (index === undefined) return;
    selected.value = this.#wanted;
    this.#wanted = "";
    this.#reveal(index);
  }

  /** Selects the next span with an error after the selected one, in the order of the tree, from the top again. */
  nextError(): void {
    const tree = this.#state.tree.peek();
    const from = tree.indexOf.get(this.#state.selected.peek()) ?? -1;
    const { length } = tree.spans;
    for (let step = 1; step <= length; step++) {
      const index = (from + step) % length;
      const span = tree.spans[index];
      if (span === undefined || span.error === "") continue;
      this.select(span.id);
      this.#reveal(index);
      return;
    }
  }

  /** Brings the first span that runs at an instant into view. */
  showTime(atMs: number): void {
    const { tree, rows } = this.#state;
    const row = rows.peek().findIndex((index) => (tree.peek().spans[index]?.startMs ?? 0) >= atMs);
    this.selectRow(row < 0 ? rows.peek().length - 1 : row);
  }

  /** Help, then the zoom, the search, the selection: what was last entered, as a rule. */
  close(): void {
    const { help, search, selected, zoom } = this.#state;
    if (help.peek()) help.value = false;
    else if (zoom.peek() !== undefined) zoom.value = undefined;
    else if (search.peek() !== "") search.value = "";
    else selected.value = "";
  }

  /** Opens what hides a span, then shows its row. */
  #reveal(index: number): void {
    const { tree, rows, collapsed, search } = this.#state;
    const open = new Set(collapsed.peek());
    for (let at = tree.peek().parent[index] ?? -1; at >= 0; at = tree.peek().parent[at] ?? -1) {
      open.delete(tree.peek().spans[at]?.id ?? "");
    }
    if (open.size !== collapsed.peek().size) collapsed.value = open;
    if (rowOf(rows.peek(), index) < 0) search.value = "";
    this.#show(rowOf(rows.peek(), index));
  }

  #show(row: number): void {
    this.shown.value = { row, asked: this.shown.peek().asked + 1 };
  }
}

/** Row of an index of the tree; rows are in ascending order. -1 where it is not shown. */
function rowOf(rows: Int32Array, index: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = rows[middle] ?? 0;
    if (found === index) return middle;
    if (found < index) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
