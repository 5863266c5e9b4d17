const pool = new Uint8Array(4_096);
let used = pool.length;

/** So many bytes of the system's secure randomness, at most 256; drawn in stock, because a draw costs more than its bytes. */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  if (used + count > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const bytes = pool.slice(used, used + count);
  // What was given out is nobody else's.
  pool.fill(0, used, used + count);
  used += count;
  return bytes;
}
