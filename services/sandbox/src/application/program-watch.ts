import type { Clock } from "@drover/kernel";
import type { OutputStream } from "../domain/execution.ts";
import type { Limits } from "../domain/limits.ts";
import { OutputCap } from "../domain/output-cap.ts";
import type { KilledBy } from "../domain/verdict.ts";
import type { LiveRun } from "./live-run.ts";
import type { Container } from "./ports.ts";

/** How long a program may take to end after SIGTERM at its time limit, to say a last word. */
const terminateGraceMs = 500;

/**
 * Watches one program: keeps its output within the cap, and ends it at its time limit, at the hard
 * output limit or when the run is cancelled. The first reason counts, and is noted before anything
 * is killed; after `close` nothing is ended any more.
 */
export class ProgramWatch implements Disposable {
  readonly stdout: OutputCap;
  readonly stderr: OutputCap;
  readonly #run: LiveRun;
  readonly #container: Container;
  readonly #limits: Limits;
  readonly #hardOutputBytes: number;
  readonly #clock: Clock;
  readonly #shown: boolean;
  readonly #timer = new AbortController();
  readonly #onCancel: () => void;
  #killedBy: KilledBy = "";
  #closed = false;
  #kill: Promise<void> = Promise.resolve();

  /** `shown` tells whether who follows the run sees its start and its output. */
  constructor(
    run: LiveRun,
    container: Container,
    limits: Limits,
    hardOutputBytes: number,
    clock: Clock,
    shown: boolean,
  ) {
    this.#run = run;
    this.#container = container;
    this.#limits = limits;
    this.#hardOutputBytes = hardOutputBytes;
    this.#clock = clock;
    this.#shown = shown;
    this.stdout = new OutputCap(limits.outputBytes);
    this.stderr = new OutputCap(limits.outputBytes);
    this.#onCancel = () => this.#end(reasonOf(run.cancelSignal));
    run.cancelSignal.addEventListener("abort", this.#onCancel, { once: true });
    if (run.cancelSignal.aborted) this.#onCancel();
    if (shown) run.view = this;
  }

  get killedBy(): KilledBy {
    return this.#killedBy;
  }

  /** The program runs: its time begins. */
  started(): void {
    if (this.#shown) this.#run.started(this.#run.execution.limits);
    const { signal } = this.#timer;
    this.#clock.sleep(this.#limits.wallMs, signal).then(
      () => this.#timeOut(signal),
      () => undefined,
    );
  }

  /** Asks the program to end, and ends it after `graceMs`. */
  stop(graceMs: number): void {
    if (this.#closed || this.#killedBy !== "") return;
    this.#killedBy = "cancel";
    this.#container.terminate();
    this.#clock.sleep(graceMs, this.#timer.signal).then(
      () => this.#killNow(),
      () => undefined,
    );
  }

  /** Passes output on to followers up to the cap; beyond it the output is counted, not kept from flowing. */
  output(stream: OutputStream, bytes: Uint8Array): void {
    const cap = this[stream];
    const offset = cap.seen;
    const room = this.#limits.outputBytes - offset;
    cap.push(bytes);
    if (this.#shown && room > 0) this.#run.output(stream, offset, bytes.subarray(0, room));
    if (cap.seen > this.#hardOutputBytes) this.#end("output");
  }

  /** The program ended: resolves when a kill that was under way is over. */
  async close(): Promise<void> {
    this[Symbol.dispose]();
    await this.#kill;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#timer.abort();
    this.#run.cancelSignal.removeEventListener("abort", this.#onCancel);
  }

  #timeOut(signal: AbortSignal): void {
    if (this.#closed || this.#killedBy !== "") return;
    this.#killedBy = "timeout";
    this.#container.terminate();
    this.#clock.sleep(terminateGraceMs, signal).then(
      () => this.#killNow(),
      () => undefined,
    );
  }

  #end(by: KilledBy): void {
    if (this.#closed || (this.#killedBy !== "" && this.#killedBy !== "timeout")) return;
    if (this.#killedBy === "") this.#killedBy = by;
    this.#killNow();
  }

  #killNow(): void {
    this.#kill = this.#container.kill().catch(() => undefined);
  }
}

/** Why a run was cancelled, from its signal. */
export function reasonOf(signal: AbortSignal): KilledBy {
  return signal.reason === "daemon" ? "daemon" : "cancel";
}
