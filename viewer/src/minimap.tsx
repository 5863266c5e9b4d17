import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { minimapLines } from "./minimap-lines.ts";
import type { SpanSelection } from "./span-selection.ts";
import type { TracePageState } from "./trace-page-state.ts";

/** The whole trace at a glance; a click goes to that instant. */
export function Minimap({ state, selection }: { readonly state: TracePageState; readonly selection: SpanSelection }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => canvas.current !== null && draw(canvas.current, state);
    const stop = effect(() => void redraw());
    const resized = new ResizeObserver(() => void redraw());
    if (canvas.current !== null) resized.observe(canvas.current);
    dark.addEventListener("change", redraw);
    return () => {
      stop();
      resized.disconnect();
      dark.removeEventListener("change", redraw);
    };
  }, []);
  const goTo = (event: MouseEvent) => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const { fromMs, toMs } = state.scale.peek();
    selection.showTime(fromMs + ((event.clientX - left) / width) * (toMs - fromMs));
  };
  return (
    <button type="button" class="minimap" tabIndex={-1} aria-label="Go to a time" data-testid="minimap" onClick={goTo}>
      <canvas ref={canvas} />
    </button>
  );
}

function draw(canvas: HTMLCanvasElement, state: TracePageState): void {
  const lines = minimapLines(state.tree.value, state.scale.value, {
    width: canvas.clientWidth,
    height: canvas.clientHeight,
  });
  const ratio = devicePixelRatio;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colors = new Map<string, string>();
  for (const { x, width, y, kind } of lines) {
    let color = colors.get(kind);
    if (color === undefined) {
      color = style.getPropertyValue(`--kind-${kind}`) || style.getPropertyValue("--kind-task");
      colors.set(kind, color);
    }
    pen.fillStyle = color;
    pen.fillRect(x, y, width, 2);
  }
}
