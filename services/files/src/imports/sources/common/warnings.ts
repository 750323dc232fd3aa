/** Counts content that could not be imported, and reports each kind once. */
export interface Losses {
  add(what: string, count?: number): void;
  list(): string[];
}

const MAX_WARNINGS = 50;

export function createLosses(): Losses {
  const counts = new Map<string, number>();
  return {
    add(what, count = 1) {
      if (count > 0 && (counts.has(what) || counts.size < MAX_WARNINGS))
        counts.set(what, (counts.get(what) ?? 0) + count);
    },
    list: () => [...counts].map(([what, count]) => (count === 1 ? what : `${what} (${count} times)`)),
  };
}
