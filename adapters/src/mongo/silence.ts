/** Milliseconds without a heartbeat after which an instance is considered dead. */
const MAX_SILENCE_MS = 3000;

/**
 * Detects instances whose heartbeat has stopped, measured by this process's own clock. Clocks of different processes
 * are never compared.
 */
export function createSilence() {
  const seen = new Map<string, { beat: string; since: number }>();
  return {
    isSilent(id: string, beat: string): boolean {
      const before = seen.get(id);
      if (before?.beat === beat) return performance.now() - before.since > MAX_SILENCE_MS;
      seen.set(id, { beat, since: performance.now() });
      return false;
    },
    forget(id: string): void {
      seen.delete(id);
    },
  };
}
