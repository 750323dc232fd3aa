/** Occurrences of one kind that are reported together. */
export interface Occurrences<T> {
  /** The most recent occurrence. */
  readonly latest: T;
  readonly count: number;
}

/** Reports frequent occurrences without a report for each of them. */
interface Aggregator<T> {
  /** Counts an occurrence. The first of a key is reported at once, later ones together when its window ends. */
  note(key: string, occurrence: T): void;
  /** Reports what was counted, and waits for every report. */
  close(): Promise<void>;
}

export interface AggregatorOptions<T> {
  readonly windowMs: number;
  /** Keys that are counted at the same time. Occurrences of further keys are counted as `overflow`. */
  readonly maxKeys: number;
  /** Limits the keys of each group, so that one cannot use up those of all others. */
  readonly share?: { groupOf(occurrence: T): string; readonly maxKeys: number };
  /** Returns what occurrences beyond these limits are reported as; if it is undefined, they are dropped. */
  overflow?(occurrence: T): { readonly key: string; readonly occurrence: T } | undefined;
  /** Handles a report. It must not throw. */
  report(occurrences: Occurrences<T>): Promise<void>;
  readonly now?: () => number;
}

interface Window<T> {
  readonly endsAt: number;
  readonly group: string;
  latest: T;
  count: number;
}

/** Counts occurrences by key in windows of time. Memory and reports are bounded by the number of keys. */
export function createAggregator<T>(options: AggregatorOptions<T>): Aggregator<T> {
  const { windowMs, maxKeys, share, now = Date.now } = options;
  const windows = new Map<string, Window<T>>();
  /** Number of open windows by group. */
  const groups = new Map<string, number>();
  const reports = new Set<Promise<void>>();

  function report(occurrences: Occurrences<T>): void {
    const done = options.report(occurrences).finally(() => reports.delete(done));
    reports.add(done);
  }

  const groupOf = (occurrence: T) => share?.groupOf(occurrence) ?? '';

  function addToGroup(group: string, by: number): void {
    const size = (groups.get(group) ?? 0) + by;
    if (size > 0) groups.set(group, size);
    else groups.delete(group);
  }

  function hasRoom(occurrence: T): boolean {
    if (windows.size >= maxKeys) return false;
    return share === undefined || (groups.get(groupOf(occurrence)) ?? 0) < share.maxKeys;
  }

  function endWindows(until: number): void {
    for (const [key, { endsAt, group, latest, count }] of windows) {
      if (endsAt > until) continue;
      windows.delete(key);
      addToGroup(group, -1);
      if (count > 0) report({ latest, count });
    }
  }

  const timer = setInterval(() => endWindows(now()), Math.min(windowMs, MAX_POLL_MS)).unref();

  function count(key: string, occurrence: T): void {
    const open = windows.get(key);
    if (open === undefined) {
      const group = groupOf(occurrence);
      windows.set(key, { endsAt: now() + windowMs, group, latest: occurrence, count: 0 });
      addToGroup(group, 1);
      report({ latest: occurrence, count: 1 });
      return;
    }
    open.latest = occurrence;
    open.count++;
  }

  return {
    note(key, occurrence) {
      const known = windows.get(key);
      if (known !== undefined && known.endsAt <= now()) endWindows(now());
      if (windows.has(key) || hasRoom(occurrence)) return count(key, occurrence);
      const instead = options.overflow?.(occurrence);
      if (instead !== undefined) count(instead.key, instead.occurrence);
    },
    async close() {
      clearInterval(timer);
      endWindows(Number.POSITIVE_INFINITY);
      await Promise.all(reports);
    },
  };
}

const MAX_POLL_MS = 5_000;
