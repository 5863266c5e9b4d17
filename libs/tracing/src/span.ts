import type { TraceContext } from "./context.ts";
import type { Attributes, EventKind, SpanKind } from "./schema.ts";

/** How a span begins. */
export interface SpanStart {
  readonly tenant: string;
  /** What a person calls it: a tool's name, "decide", "build context". At most 200 characters are kept. */
  readonly name: string;
  readonly kind: SpanKind;
  /** The span that caused this one; without it the span is the root of a new trace. */
  readonly parent?: TraceContext | undefined;
  readonly taskId?: string | undefined;
  readonly attributes?: Attributes;
  /**
   * Ids to use in place of new ones. With the same `startedAt`, another process can take a span up
   * again (a task that moved to another replica): storing merges both.
   */
  readonly identity?: TraceContext | undefined;
  readonly startedAt?: Date | undefined;
}

/** What a point within a span says. */
export interface SpanEventOptions {
  /** Redacted, then cut to 2,048 characters. */
  readonly text?: string;
  readonly attributes?: Attributes;
}

/** How a span ends. */
export interface SpanEnd {
  /** One sentence for people; absent or empty means success. */
  readonly error?: string | undefined;
  readonly attributes?: Attributes;
}

/** A piece of work in a trace. No method throws or waits; after `end` all of them do nothing. */
export interface Span {
  readonly context: TraceContext;
  readonly startedAt: Date;
  /** A point in time within the span. */
  event(kind: EventKind, options?: SpanEventOptions): void;
  /**
   * What went in or came out; redacted, then cut to 65,536 characters. Once per slot. A text that is made for the trace
   * alone is given as a function: it is asked for at once, or never where nothing is recorded.
   */
  payload(slot: "input" | "output", text: string | (() => string)): void;
  /** Attributes that are sent when the span ends. What a watcher must see earlier is an event. */
  set(attributes: Attributes): void;
  /** The first call counts. */
  end(options?: SpanEnd): void;
  /**
   * Stops vouching for the span without ending it, because another process will take it up again
   * (see {@link SpanStart.identity}). Without one, the trace service closes it after its time-out.
   */
  release(): void;
}

/** Where spans come from. */
export interface Tracer extends AsyncDisposable {
  /** Begins a span; watchers see it before it ends. */
  start(options: SpanStart): Span;
  /** Sends what is queued; resolves when it was accepted or after the tracer's bound. Never rejects. */
  flush(): Promise<void>;
}
