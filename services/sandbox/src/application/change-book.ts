import type { ChangeOutcome } from "../domain/change-set.ts";

/** What changed while a command ran: of each path the last outcome, and the version that the last change made. */
export class ChangeBook {
  readonly #outcomes: Map<string, ChangeOutcome>;
  #version: number;

  constructor(outcomes: Iterable<ChangeOutcome> = [], version = 0) {
    this.#outcomes = new Map([...outcomes].map((outcome) => [outcome.path, outcome]));
    this.#version = version;
  }

  get outcomes(): readonly ChangeOutcome[] {
    return [...this.#outcomes.values()];
  }

  /** 0 where nothing was committed. */
  get version(): number {
    return this.#version;
  }

  /** Adds what one commit came to; `version` is what the workspace had then, and counts where something was written. */
  note(outcomes: readonly ChangeOutcome[], version: number): void {
    for (const outcome of outcomes) this.#outcomes.set(outcome.path, outcome);
    if (outcomes.some(({ kind }) => kind !== "CONFLICT" && kind !== "SKIPPED")) this.#version = version;
  }

  /** Adds what is true of paths of which nothing was told so far. */
  add(outcomes: readonly ChangeOutcome[]): void {
    for (const outcome of outcomes) if (!this.#outcomes.has(outcome.path)) this.#outcomes.set(outcome.path, outcome);
  }

  copy(): ChangeBook {
    return new ChangeBook(this.#outcomes.values(), this.#version);
  }
}
