import { createClient, type Transport } from "@connectrpc/connect";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { actingAs } from "@drover/rpc";

/** Offered until the sandbox has answered for the first time; every sandbox has them. */
const untilKnown = ["python", "javascript", "bash"] as const;
/** So long an answer, or a question without one, speaks for those who ask next. */
const holdsMs = 60_000;
const answersWithinMs = 5_000;
const asItself = actingAs({ tenant: "drover", subject: "orchestrator", scopes: ["exec:read"] });

/**
 * The languages that run_code offers: those that are named, else those whose images the sandbox has. Nobody waits
 * for its answer: it is asked at the begin and, when somebody looks, once a minute; while it is away, what it said last counts.
 */
export class CodeLanguages implements Disposable {
  readonly #named: readonly string[];
  readonly #ask: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly #nowMs: () => number;
  readonly #over = new AbortController();
  #known: readonly string[] = untilKnown;
  #askAgainMs: number;

  constructor(transport: Transport, named: readonly string[], nowMs = () => performance.now()) {
    const client = createClient(ExecService, transport);
    this.#named = named;
    this.#nowMs = nowMs;
    this.#ask = async (signal) => {
      const { languages } = await client.listLanguages({}, { signal, contextValues: asItself });
      return languages.filter(({ available }) => available).map(({ name }) => name);
    };
    this.#askAgainMs = nowMs();
  }

  /** The same list as long as nothing changed. */
  get current(): readonly string[] {
    if (this.#named.length > 0) return this.#named;
    if (this.#nowMs() >= this.#askAgainMs) {
      this.#askAgainMs = this.#nowMs() + holdsMs;
      void this.refresh();
    }
    return this.#known;
  }

  /** Resolves when the sandbox has answered, or has not. */
  async refresh(): Promise<void> {
    const signal = AbortSignal.any([this.#over.signal, AbortSignal.timeout(answersWithinMs)]);
    const found = await this.#ask(signal).catch(() => []);
    if (found.length > 0 && found.join() !== this.#known.join()) this.#known = found;
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }
}
