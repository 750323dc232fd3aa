/**
 * Returns the number of random cases of a test: `usual`, or COMMONPLACE_TEST_EFFORT times as many. `.ci/run --all` tries
 * four times as many as tests do without it.
 */
export function effort(usual: number): number {
  return Math.ceil(usual * Number(process.env.COMMONPLACE_TEST_EFFORT ?? 1));
}
