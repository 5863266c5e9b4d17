import { type Clock, DroverError } from "@drover/kernel";

const attempts = 6;

/**
 * Repeats work on a database that is away for a moment, for about six seconds. A failure that `again` does not name,
 * and the last one, are thrown.
 */
export async function patiently<T>(
  clock: Clock,
  work: () => Promise<T>,
  again: (error: unknown, attempt: number) => boolean = isAway,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!again(error, attempt) || attempt === attempts) throw error;
      await clock.sleep(100 * 2 ** attempt);
    }
  }
}

function isAway(error: unknown): boolean {
  return DroverError.from(error).code === "UNAVAILABLE";
}
