import { imageOf, type Language } from "../domain/language.ts";
import type { EngineHealth, ExecBackend } from "./ports.ts";

/** A language with its image, and whether that is on this host. */
export interface LanguageHere {
  readonly language: Language;
  readonly image: string;
  readonly available: boolean;
}

/** Asks the engine what can be run now; never throws, trouble is the answer. */
export class CheckEngine {
  readonly #engine: ExecBackend;
  readonly #languages: readonly Language[];
  readonly #imagePrefix: string;

  constructor(engine: ExecBackend, languages: readonly Language[], imagePrefix: string) {
    this.#engine = engine;
    this.#languages = languages;
    this.#imagePrefix = imagePrefix;
  }

  async health(signal: AbortSignal): Promise<EngineHealth> {
    return await this.#engine.health(signal);
  }

  /** All languages, each with whether its image is there. */
  async languages(signal: AbortSignal): Promise<readonly LanguageHere[]> {
    return await Promise.all(
      this.#languages.map(async (language) => {
        const image = imageOf(language, this.#imagePrefix);
        const available = await this.#engine.check(image, signal).then(
          () => true,
          () => false,
        );
        return { language, image, available };
      }),
    );
  }
}
