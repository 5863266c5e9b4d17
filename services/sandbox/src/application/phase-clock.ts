import type { Clock } from "@drover/kernel";
import { noTimes, type PhaseTimes } from "../domain/execution.ts";

/** Measures where the time of one run goes. */
export class PhaseClock {
  readonly #clock: Clock;
  #times: PhaseTimes = noTimes;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get times(): PhaseTimes {
    return this.#times;
  }

  /** Does some work and adds the time it took, failed or not, to a phase. */
  async measure<T>(phase: keyof PhaseTimes, work: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonicMs();
    try {
      return await work();
    } finally {
      this.#times = { ...this.#times, [phase]: this.#times[phase] + this.#clock.monotonicMs() - began };
    }
  }
}
