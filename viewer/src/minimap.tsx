import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { minimapLines } from "./minimap-lines.ts";
import type { SpanSelection } from "./span-selection.ts";
import { percentOf } from "./time-scale.ts";
import type { TracePageState } from "./trace-page-state.ts";

/** A pointer that moved less than this, in pixels, clicked. */
const leastDrag = 4;

/** The whole trace at a glance; a click goes to that instant, a drag looks at that stretch closely, Esc looks away. */
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
  const pressed = useRef<number | undefined>(undefined);
  const timeAt = (clientX: number) => {
    const { left, width } = canvas.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    const { fromMs, toMs } = state.scale.peek();
    return fromMs + Math.min(1, Math.max(0, (clientX - left) / width)) * (toMs - fromMs);
  };
  const press = (event: PointerEvent) => {
    pressed.current = event.clientX;
    if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId);
  };
  const drag = (event: PointerEvent) => {
    const from = pressed.current;
    if (from === undefined || Math.abs(event.clientX - from) < leastDrag) return;
    const times = [timeAt(from), timeAt(event.clientX)] as const;
    state.zoom.value = { fromMs: Math.min(...times), toMs: Math.max(...times, Math.min(...times) + 0.001) };
  };
  const release = (event: PointerEvent) => {
    const from = pressed.current;
    pressed.current = undefined;
    if (from !== undefined && Math.abs(event.clientX - from) < leastDrag) selection.showTime(timeAt(event.clientX));
  };
  return (
    <button
      type="button"
      class="minimap"
      tabIndex={-1}
      aria-label="Time: click to go there, drag to look closely"
      title="Click to go there, drag to look closely, Esc for everything"
      data-testid="minimap"
      // The focus stays where the keyboard is in use.
      onMouseDown={(event) => event.preventDefault()}
      onPointerDown={press}
      onPointerMove={drag}
      onPointerUp={release}
      onDblClick={() => {
        state.zoom.value = undefined;
      }}
    >
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
  shadeOutside(pen, canvas, state);
}

function shadeOutside(pen: CanvasRenderingContext2D, canvas: HTMLCanvasElement, state: TracePageState): void {
  const zoom = state.zoom.value;
  if (zoom === undefined) return;
  const { clientWidth, clientHeight } = canvas;
  const from = (percentOf(state.scale.value, zoom.fromMs) / 100) * clientWidth;
  const to = (percentOf(state.scale.value, zoom.toMs) / 100) * clientWidth;
  pen.globalAlpha = 0.8;
  pen.fillStyle = getComputedStyle(canvas).getPropertyValue("--line");
  pen.fillRect(0, 0, from, clientHeight);
  pen.fillRect(to, 0, clientWidth - to, clientHeight);
  pen.globalAlpha = 1;
}
