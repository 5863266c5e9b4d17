import { type Clock, DroverError } from "@drover/kernel";

const attempts = 6;

/** Repeats work on a database that is away for a moment, for about six seconds; every other failure is thrown at once. */
export async function patiently<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attempts || DroverError.from(error).code !== "UNAVAILABLE") throw error;
      await clock.sleep(100 * 2 ** attempt);
    }
  }
}
