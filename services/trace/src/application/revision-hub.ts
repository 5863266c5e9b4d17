import { DroverError } from "@drover/kernel";
import type { TraceKey } from "../domain/trace.ts";
import type { RevisionHints } from "./ports.ts";

/** One watcher's interest in a trace. */
export interface Interest extends AsyncDisposable {
  /**
   * Resolves when the trace may be newer than `revision`, at the latest after `ms`. Rejects with the
   * signal's reason, and with UNAVAILABLE when the service drains.
   */
  newerThan(revision: number, ms: number, signal: AbortSignal): Promise<void>;
}

interface Watched {
  readonly subscription: AsyncDisposable;
  readonly wake: Set<() => void>;
  interests: number;
  newest: number;
}

/** One subscription for each watched trace in this process, whatever the number of its watchers. */
export class RevisionHub implements Disposable {
  readonly #hints: RevisionHints;
  readonly #watched = new Map<string, Watched>();
  readonly #drain = new AbortController();

  constructor(hints: RevisionHints) {
    this.#hints = hints;
  }

  watch(key: TraceKey): Interest {
    const id = `${key.tenant}/${key.traceId}`;
    const watched = this.#watched.get(id) ?? this.#subscribe(id, key);
    watched.interests++;
    let released = false;
    return {
      newerThan: (revision, ms, signal) => this.#wait(watched, revision, ms, signal),
      [Symbol.asyncDispose]: async () => {
        if (released) return;
        released = true;
        if (--watched.interests > 0) return;
        this.#watched.delete(id);
        await watched.subscription[Symbol.asyncDispose]();
      },
    };
  }

  /** Ends all waiting with UNAVAILABLE, so that watchers go to another replica. */
  [Symbol.dispose](): void {
    this.#drain.abort(new DroverError("UNAVAILABLE", "The service drains; resume from the last revision."));
  }

  #subscribe(id: string, key: TraceKey): Watched {
    const wake = new Set<() => void>();
    const subscription = this.#hints.subscribe(key, (revision) => {
      watched.newest = Math.max(watched.newest, revision);
      for (const each of wake) each();
    });
    const watched: Watched = { subscription, wake, interests: 0, newest: 0 };
    this.#watched.set(id, watched);
    return watched;
  }

  async #wait(watched: Watched, revision: number, ms: number, signal: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([signal, this.#drain.signal]);
    ended.throwIfAborted();
    if (watched.newest > revision) return;
    await new Promise<void>((resolve, reject) => {
      const done = (settle: () => void) => () => {
        clearTimeout(timer);
        watched.wake.delete(onWake);
        ended.removeEventListener("abort", onAbort);
        settle();
      };
      const onAbort = done(() => reject(ended.reason));
      const onWake = () => watched.newest > revision && finish();
      const finish = done(resolve);
      const timer = setTimeout(finish, ms);
      watched.wake.add(onWake);
      ended.addEventListener("abort", onAbort, { once: true });
    });
  }
}
