/** Records the rows of a tenant that changed recently, so that derived data can be updated. */
export interface ChangeLog {
  /** Number of changes so far. */
  readonly length: number;
  add(offset: number): void;
  /** Returns the distinct rows changed since there were `length` changes, or undefined when that is too long ago. */
  since(length: number): number[] | undefined;
}

const MAX_KEPT_CHANGES = 4000;

export function createChangeLog(): ChangeLog {
  let offsets: number[] = [];
  let forgotten = 0;
  return {
    get length() {
      return forgotten + offsets.length;
    },
    add(offset) {
      offsets.push(offset);
      if (offsets.length < 2 * MAX_KEPT_CHANGES) return;
      offsets = offsets.slice(MAX_KEPT_CHANGES);
      forgotten += MAX_KEPT_CHANGES;
    },
    since: (length) => (length < forgotten ? undefined : [...new Set(offsets.slice(length - forgotten))]),
  };
}
