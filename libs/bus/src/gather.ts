/**
 * Items in batches: what is there already goes together, up to `size`, and nothing waits for more to come.
 * Ending the batches ends the items. A source that says itself how much it holds is not asked: the
 * client's count includes its own notices, and a batch would wait for a message that never comes.
 */
export async function* gather<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[], void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const first = await next;
      if (first.done) return;
      const batch = [first.value];
      next = iterator.next();
      while (batch.length < size) {
        const more = await Promise.race([next, turn()]);
        if (more === undefined || more.done) break;
        batch.push(more.value);
        next = iterator.next();
      }
      yield batch;
    }
  } finally {
    // Neither is awaited: a source that hangs in `next` ends only when its owner closes it.
    next.catch(() => {});
    iterator.return?.()?.catch(() => {});
  }
}

/** One turn of the event loop, in which all that has arrived is delivered. */
function turn(): Promise<undefined> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(undefined));
  });
}
