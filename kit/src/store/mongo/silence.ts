/** Milliseconds without a beat after which an instance is taken for gone. */
const MOST_SILENCE = 3000;

/**
 * Tells whose beat has not changed for a while of this process's own clock: nobody's clock is compared with
 * another's.
 */
export function createSilence() {
  const seen = new Map<string, { beat: string; since: number }>();
  return {
    isSilent(id: string, beat: string): boolean {
      const before = seen.get(id);
      if (before?.beat === beat) return performance.now() - before.since > MOST_SILENCE;
      seen.set(id, { beat, since: performance.now() });
      return false;
    },
    forget(id: string): void {
      seen.delete(id);
    },
  };
}
