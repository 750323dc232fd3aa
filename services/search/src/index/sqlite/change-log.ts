/** The rows of a tenant that changed lately, so that what was derived from them is brought up to date. */
export interface ChangeLog {
  /** How many changes there have been. */
  readonly length: number;
  add(offset: number): void;
  /** The rows changed since there were `length` changes, once each; undefined where that is too long ago. */
  since(length: number): number[] | undefined;
}

const KEPT_CHANGES = 4000;

export function createChangeLog(): ChangeLog {
  let offsets: number[] = [];
  let forgotten = 0;
  return {
    get length() {
      return forgotten + offsets.length;
    },
    add(offset) {
      offsets.push(offset);
      if (offsets.length < 2 * KEPT_CHANGES) return;
      offsets = offsets.slice(KEPT_CHANGES);
      forgotten += KEPT_CHANGES;
    },
    since: (length) => (length < forgotten ? undefined : [...new Set(offsets.slice(length - forgotten))]),
  };
}
