import { Code, ConnectError } from "@connectrpc/connect";
import type { TraceSummary } from "@drover/proto/trace/v1/trace";
import type { WatchTraceResponse } from "@drover/proto/trace/v1/trace_service";
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { isFinal, isSignedOut, messageOf, tasks, traces } from "./api.ts";
import type { Route } from "./route.ts";
import { sessionEnded } from "./session.ts";
import { SpanSet } from "./span-set.ts";
import { buildTree, type SpanTree } from "./span-tree.ts";
import { spanViewOf } from "./span-view.ts";
import { scaleOf, type TimeScale } from "./time-scale.ts";
import { type TraceFacts, traceFacts } from "./trace-facts.ts";
import { visibleRows } from "./visible-rows.ts";
import { type Connection, watchLoop } from "./watch-loop.ts";

/** A running trace's bars grow so often: often enough to live, seldom enough to be calm. */
const tickMs = 250;

/** Everything one trace's page shows, kept up by a watch until the signal aborts. */
export class TracePageState {
  readonly summary: Signal<TraceSummary | undefined> = signal(undefined);
  readonly connection: Signal<Connection> = signal("connecting");
  /** A sentence where the page cannot show the trace. */
  readonly problem: Signal<string> = signal("");
  readonly traceId: Signal<string> = signal("");
  readonly tree: Signal<SpanTree> = signal(buildTree([]));
  readonly collapsed: Signal<ReadonlySet<string>> = signal(new Set());
  readonly search: Signal<string> = signal("");
  readonly selected: Signal<string> = signal("");
  readonly follow: Signal<boolean> = signal(false);
  readonly help: Signal<boolean> = signal(false);
  readonly cancelling: Signal<"no" | "asked" | "sent" | "failed"> = signal("no");
  readonly #nowMs: Signal<number> = signal(Date.now());
  readonly running: ReadonlySignal<boolean> = computed(() => this.summary.value?.running ?? true);
  readonly scale: ReadonlySignal<TimeScale> = computed(() => scaleOf(this.tree.value.spans, this.#nowMs.value));
  /** The stretch that the reader chose to look at closely. */
  readonly zoom: Signal<TimeScale | undefined> = signal(undefined);
  readonly lanes: ReadonlySignal<TimeScale> = computed(() => this.zoom.value ?? this.scale.value);
  readonly rows: ReadonlySignal<Int32Array> = computed(() =>
    visibleRows(this.tree.value, { search: this.search.value, collapsed: this.collapsed.value }),
  );
  readonly facts: ReadonlySignal<TraceFacts> = computed(() =>
    traceFacts(this.tree.value.spans, this.summary.value, this.scale.value),
  );
  readonly #spans = new SpanSet();
  #rebuild: ReturnType<typeof setTimeout> | undefined;
  #buildMs = 0;
  /** The server's clock less ours at the newest piece; bars of running spans end at its now. */
  #ahead = 0;

  async run(route: Route, signal: AbortSignal): Promise<void> {
    const ticking = setInterval(() => this.running.value && this.#tick(), tickMs);
    try {
      this.traceId.value = await traceIdOf(route, signal);
      await watchLoop<WatchTraceResponse>(
        {
          open: (afterRevision, watching) =>
            traces.watchTrace({ traceId: this.traceId.value, afterRevision }, { signal: watching }),
          onPiece: (piece) => this.#take(piece),
          onConnection: (connection) => {
            this.connection.value = connection;
          },
          isFinal,
          sleep: (ms, until) => pause(ms, until),
        },
        signal,
      );
    } catch (error) {
      if (signal.aborted) return;
      if (isSignedOut(error)) sessionEnded();
      else this.problem.value = messageOf(error);
    } finally {
      clearInterval(ticking);
      if (signal.aborted) clearTimeout(this.#rebuild);
    }
  }

  /** Asks for the cancel of the task; the trace itself shows when it has stopped. */
  async cancel(): Promise<void> {
    this.cancelling.value = "asked";
    try {
      await tasks.cancelTask({ taskId: this.facts.value.cancellableTask, reason: "Cancelled in the viewer." });
      this.cancelling.value = "sent";
    } catch (error) {
      if (isSignedOut(error)) sessionEnded();
      this.cancelling.value = "failed";
    }
  }

  #take(piece: WatchTraceResponse): void {
    if (piece.trace !== undefined) this.summary.value = piece.trace;
    if (!this.#spans.merge(piece.spans.map(spanViewOf))) return;
    // A large trace comes in many pieces; the tree is built again at most a third of the time.
    this.#rebuild ??= setTimeout(() => {
      this.#rebuild = undefined;
      const begun = performance.now();
      this.tree.value = buildTree(this.#spans.all());
      this.#align();
      this.#buildMs = performance.now() - begun;
    }, this.#buildMs * 2);
  }

  /** Takes the newest instant that a span names as the server's now, where it is ahead of ours. */
  #align(): void {
    let newest = Number.NEGATIVE_INFINITY;
    for (const span of this.tree.value.spans) newest = Math.max(newest, span.endMs ?? span.startMs);
    this.#ahead = Math.max(this.#ahead, newest - Date.now());
    if (Number.isFinite(newest)) this.#tick();
  }

  /** A trace so large that drawing it costs something is drawn once a second. */
  #tick(): void {
    const nowMs = Date.now() + this.#ahead;
    if (this.#buildMs < 20 || nowMs - this.#nowMs.peek() > 1_000) this.#nowMs.value = nowMs;
  }
}

/** The trace of a route; a task's is asked for, and by the list where tasks cannot be read. */
async function traceIdOf(route: Route, signal: AbortSignal): Promise<string> {
  if (route.kind === "trace") return route.traceId;
  if (route.kind !== "task") throw new Error("The address names no trace.");
  const { task } = await tasks.getTask({ taskId: route.taskId }, { signal }).catch((error: unknown) => {
    if (isSignedOut(error)) throw error;
    return { task: undefined };
  });
  if (task !== undefined && task.traceId !== "") return task.traceId;
  const { traces: found } = await traces.listTraces({ taskId: route.taskId, pageSize: 1 }, { signal });
  const [first] = found;
  if (first === undefined)
    throw new ConnectError("There is no task with this id, or it has no trace yet.", Code.NotFound);
  return first.traceId;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
