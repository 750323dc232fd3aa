/** Whether generated tests try all the cases that are promised; `node scripts/test.mjs --full` asks for them. */
export const FULL = process.env.COMMONPLACE_TEST_FULL === '1';

/** How many cases a generated test tries: all in a full run, fewer where somebody waits for it, or COMMONPLACE_TEST_RUNS. */
export function casesOf({ full, quick }: { readonly full: number; readonly quick: number }): number {
  return Number(process.env.COMMONPLACE_TEST_RUNS ?? (FULL ? full : quick));
}

/** Of many cases all in a full run, else each so-manieth, from `offset` on. */
export function someOf<T>(all: readonly T[], each: number, offset = 0): readonly T[] {
  return FULL ? all : all.filter((_, i) => i % each === offset % each);
}
