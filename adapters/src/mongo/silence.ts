/** Milliseconds without a heartbeat after which an instance is considered dead. */
const MAX_SILENCE_MS = 3000;
/** Maximum milliseconds for which one look counts; callers look once a second. */
const MAX_LOOK_MS = 1000;

/**
 * Detects instances whose heartbeat has stopped, measured by this process's own clock. Clocks of different processes
 * are never compared. Time in which this process could not look hardly counts: while the server was away, as during a
 * change of its primary, the others could not send their heartbeat either.
 */
export function createSilence(clock: () => number = () => performance.now()) {
  const seen = new Map<string, { beat: string; lookedAt: number; silentMs: number }>();
  return {
    isSilent(id: string, beat: string): boolean {
      const now = clock();
      const before = seen.get(id);
      const silentMs = before?.beat === beat ? before.silentMs + Math.min(now - before.lookedAt, MAX_LOOK_MS) : 0;
      seen.set(id, { beat, lookedAt: now, silentMs });
      return silentMs >= MAX_SILENCE_MS;
    },
    forget(id: string): void {
      seen.delete(id);
    },
  };
}
