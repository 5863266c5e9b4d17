/** Numbers that follow from a seed. */
export interface Random {
  /** An integer from 0 up to, and without, `limit`. */
  below(limit: number): number;
  pick<T>(all: readonly T[]): T;
}

/** Mulberry32 by Tommy Ettinger, public domain: small, and good enough to choose faults by. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
  return {
    below,
    pick(all) {
      const picked = all[below(all.length)];
      if (picked === undefined) throw new Error("nothing to pick from");
      return picked;
    },
  };
}
