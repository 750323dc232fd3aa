/** Numbers that are the same again for the same seed. */
export interface Random {
  /** Below `limit`, a whole number. */
  below(limit: number): number;
  /** True that many times of 100. */
  chance(percent: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Mulberry32: small, and even enough to choose what is lost. */
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
