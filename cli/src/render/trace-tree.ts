import { type Span, SpanState, type TraceSummary } from "@drover/proto/trace/v1/trace";
import { attr } from "@drover/tracing/schema";
import { countOf, durationOf, plural } from "./figures.ts";
import { paletteOf } from "./palette.ts";
import { usageFacts } from "./task-lines.ts";
import { columnsOf, fit, oneLine, wrap } from "./terminal-text.ts";

interface Node {
  readonly span: Span;
  readonly children: Node[];
}

const durationColumns = 13;

/** A trace as lines: one that sums it up, then its spans as a tree in the order of their starts, with errors below. */
export function traceLines(
  trace: TraceSummary,
  spans: readonly Span[],
  layout: { readonly width: number; readonly color: boolean },
): readonly string[] {
  const palette = paletteOf(layout.color);
  const facts = [
    `trace ${oneLine(trace.traceId)}`,
    oneLine(trace.name),
    trace.running ? "running" : oneLine(trace.taskState.toLowerCase()),
    plural(trace.spanCount, "span"),
    ...(trace.errorCount > 0 ? [palette.bad(plural(trace.errorCount, "error"))] : []),
    ...usageFacts(trace.usage),
    ...(trace.endNs > 0n ? [durationOf(milliseconds(trace.startNs, trace.endNs))] : []),
  ];
  const lines = [facts.filter((fact) => fact !== "").join(" · "), ""];
  const add = (node: Node, before: string, branch: string, below: string) => {
    const { span } = node;
    const room = Math.max(16, layout.width - durationColumns);
    const nameRoom = Math.max(8, room - columnsOf(before + branch));
    const name = fit(oneLine(span.name), nameRoom);
    const painted = span.error === "" ? name : palette.bad(name);
    const note = noteOf(span, nameRoom - columnsOf(name));
    const gap = " ".repeat(Math.max(1, room - columnsOf(before + branch + name + note)));
    lines.push(
      `${palette.quiet(before + branch)}${painted}${palette.quiet(`${note}${gap}${timeOf(span).padStart(durationColumns)}`)}`,
    );
    const lead = before + below + (node.children.length > 0 ? "│ " : "  ");
    if (span.error !== "") {
      const text = wrap(oneLine(span.error), Math.max(16, room - columnsOf(lead)), 4);
      lines.push(...text.map((line) => `${palette.quiet(lead)}${palette.bad(line)}`));
    }
    node.children.forEach((child, index) => {
      const isLast = index === node.children.length - 1;
      add(child, before + below, isLast ? "└─ " : "├─ ", isLast ? "   " : "│  ");
    });
  };
  for (const root of treeOf(spans)) add(root, "", "", "");
  if (trace.droppedRecords > 0n) {
    lines.push("", `${countOf(trace.droppedRecords)} records were dropped: details are missing.`);
  }
  return lines;
}

/** What came of a tool call, where there is room for some of it; a failed one says it below. */
function noteOf(span: Span, room: number): string {
  const summary = oneLine(span.attributes[attr.toolSummary] ?? "");
  return summary === "" || span.error !== "" || room < 12 ? "" : `  ${fit(summary, room - 3)}`;
}

/** Spans below their parents; one whose parent is not there, or that is its own ancestor, is a root. */
function treeOf(spans: readonly Span[]): readonly Node[] {
  const ordered = [...spans].sort((a, b) => compare(a.startNs, b.startNs) || compare(a.sequence, b.sequence));
  const nodes = new Map(ordered.map((span): [string, Node] => [span.spanId, { span, children: [] }]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.span.parentSpanId);
    if (parent === undefined || isCircular(node, nodes)) roots.push(node);
    else parent.children.push(node);
  }
  return roots;
}

function isCircular(node: Node, nodes: ReadonlyMap<string, Node>): boolean {
  const seen = new Set<string>();
  for (let at: Node | undefined = node; at !== undefined; at = nodes.get(at.span.parentSpanId)) {
    if (seen.has(at.span.spanId)) return true;
    seen.add(at.span.spanId);
  }
  return false;
}

function timeOf(span: Span): string {
  switch (span.state) {
    case SpanState.ENDED:
      return durationOf(milliseconds(span.startNs, span.endNs));
    case SpanState.FORCED:
      return "lost";
    case SpanState.STARTED:
      return "running";
    default:
      return "not known";
  }
}

function milliseconds(startNs: bigint, endNs: bigint): number {
  return Number(endNs - startNs) / 1e6;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
