/**
 * Runs `work` on every item with at most `limit` at once. Results come back in the order of the
 * items, whatever order they finished in. The first rejection rejects the whole after all started
 * work has settled.
 */
export async function mapBounded<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < items.length && !failed) {
      const index = next++;
      try {
        results[index] = await work(items[index] as T, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, lane));
  for (const settled of lanes) if (settled.status === "rejected") throw settled.reason;
  return results;
}
