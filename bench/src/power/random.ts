/** A pseudo-random generator. The same seed yields the same numbers. */
export interface Random {
  /** Returns an integer from 0 to `limit` - 1. */
  below(limit: number): number;
  /** Returns true with a probability of `percent`. */
  chance(percent: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Creates a generator (Mulberry32), which is small and uniform enough to choose what is lost. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, chance: (percent) => next() * 100 < percent, pick: (items) => items[below(items.length)] as never };
}
