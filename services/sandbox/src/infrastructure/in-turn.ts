/**
 * Hands items out one after the other; a promise makes the next one wait. Undefined where nothing had to be waited
 * for: much that comes in small pieces is then handled without a promise for each.
 */
export function inTurn<T>(items: Iterator<T>, take: (item: T) => Promise<void> | void): Promise<void> | undefined {
  for (let next = items.next(); next.done !== true; next = items.next()) {
    const waiting = take(next.value);
    if (waiting instanceof Promise) return waiting.then(() => inTurn(items, take));
  }
  return undefined;
}
