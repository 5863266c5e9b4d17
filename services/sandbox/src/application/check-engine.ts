import { type Language, languages } from "../domain/language.ts";
import type { ContainerEngine, EngineHealth } from "./ports.ts";

/** Asks the engine what can be run now; never throws, trouble is the answer. */
export class CheckEngine {
  readonly #engine: ContainerEngine;

  constructor(engine: ContainerEngine) {
    this.#engine = engine;
  }

  async health(signal: AbortSignal): Promise<EngineHealth> {
    return await this.#engine.health(signal);
  }

  /** All languages, each with whether its image is there. */
  async languages(
    signal: AbortSignal,
  ): Promise<readonly { readonly language: Language; readonly available: boolean }[]> {
    return await Promise.all(
      languages.map(async (language) => {
        const available = await this.#engine.check(language.image, signal).then(
          () => true,
          () => false,
        );
        return { language, available };
      }),
    );
  }
}
