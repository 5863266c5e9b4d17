/** What a name meant so long ago it is taken to mean still. */
const holdsMs = 10 * 60_000;

/**
 * What images' names mean. Only a node that runs an image knows that, so every Pod that runs is a sighting, and a name
 * that was not seen for ten minutes is looked at by running a Pod of it, one at a time.
 */
export class ImageDigests {
  readonly #look: (image: string) => Promise<string>;
  readonly #seen = new Map<string, { readonly digest: string; readonly at: number }>();
  readonly #looking = new Map<string, Promise<string>>();

  constructor(look: (image: string) => Promise<string>) {
    this.#look = look;
  }

  saw(image: string, digest: string): void {
    this.#seen.set(image, { digest, at: Date.now() });
  }

  async of(image: string): Promise<string> {
    const pinned = /@(sha256:[0-9a-f]{64})$/.exec(image)?.[1];
    if (pinned !== undefined) return pinned;
    const seen = this.#seen.get(image);
    if (seen !== undefined && Date.now() - seen.at < holdsMs) return seen.digest;
    const underway = this.#looking.get(image) ?? this.#look(image).finally(() => this.#looking.delete(image));
    this.#looking.set(image, underway);
    return await underway;
  }
}
