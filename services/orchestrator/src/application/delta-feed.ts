import type { Clock } from "@drover/kernel";
import type { ModelEvent } from "@drover/model";
import { redact } from "@drover/redaction";
import type { Delta } from "./ports.ts";

/** The least time between two deltas of a channel. */
const everyMs = 50;
/**
 * Characters of a channel that are shown as they come. Each delta looks for secrets in all of them, so without a bound
 * a very long turn would take the process for itself; the rest comes with the durable message.
 */
const shownCharacters = 64_000;

/** Passes the text of a turn on as it comes, without showing secrets. */
export interface DeltaFeed {
  accept(event: ModelEvent): void;
  /** Sends what was held back. */
  end(): void;
  /** All reasoning so far, for the trace. */
  readonly reasoning: string;
}

/**
 * A feed for the turn that becomes `step`. A piece is sent at most every 50 ms and up to its last
 * white space, so that a secret that is still being written is not shown in part; where one is found
 * in what was sent already, or after 64,000 characters, the channel falls silent: the durable message comes anyway.
 */
export function createDeltaFeed(
  taskId: string,
  step: number,
  clock: Pick<Clock, "monotonicMs">,
  send: (delta: Delta) => void,
): DeltaFeed {
  const text = channel("text");
  const reasoning = channel("reasoning");

  function channel(name: Delta["channel"]) {
    let raw = "";
    let sent = "";
    let silent = false;
    let lastMs = Number.NEGATIVE_INFINITY;
    const flush = (all: boolean) => {
      if (silent || raw.length > shownCharacters) return;
      const shown = redact(raw).text;
      if (!shown.startsWith(sent)) silent = true;
      const until = all ? shown.length : Math.max(shown.lastIndexOf(" "), shown.lastIndexOf("\n")) + 1;
      if (silent || until <= sent.length) return;
      send({ taskId, step, channel: name, offset: sent.length, text: shown.slice(sent.length, until) });
      sent = shown.slice(0, until);
    };
    return {
      add(piece: string) {
        raw += piece;
        const now = clock.monotonicMs();
        if (now - lastMs < everyMs) return;
        lastMs = now;
        flush(false);
      },
      end: () => flush(true),
      get raw() {
        return raw;
      },
    };
  }

  return {
    accept(event) {
      if (event.type === "text") text.add(event.text);
      if (event.type === "reasoning") reasoning.add(event.text);
    },
    end() {
      reasoning.end();
      text.end();
    },
    get reasoning() {
      return reasoning.raw;
    },
  };
}
