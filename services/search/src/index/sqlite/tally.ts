import type { Postings } from './postings.js';

/** Lists of one group: a row in any of them meets it. */
export type GroupPostings = readonly Postings[];

export interface Tallied {
  /** Rows that meet a group and are not excluded, less the tenant's first. */
  readonly offsets: number[];
  readonly weights: Float32Array;
  /** How many groups a row meets. */
  readonly met: Uint8Array;
}

/** Room for one tally; used again by the next, so that a search allocates little. */
let weights = new Float32Array(0);
let met = new Uint8Array(0);
let lastGroup = new Uint8Array(0);

/** Adds up what rows weigh over all lists; `rows` is how many rows the tenant has. The result holds until the next tally. */
export function tally(
  rows: number,
  groups: readonly GroupPostings[],
  boosts: readonly Postings[],
  excluded: readonly Postings[],
): Tallied {
  if (weights.length < rows) {
    const room = Math.ceil(rows * 1.5);
    weights = new Float32Array(room);
    met = new Uint8Array(room);
    lastGroup = new Uint8Array(room);
  }
  const found: number[] = [];
  groups.forEach((lists, index) => {
    for (const list of lists) addList(list, index + 1, found);
  });
  for (const { offsets, weights: added } of boosts) {
    for (let i = 0; i < offsets.length; i++) {
      const offset = offsets[i] as number;
      if (lastGroup[offset] !== 0) weights[offset] = (weights[offset] as number) + (added[i] as number);
    }
  }
  for (const { offsets } of excluded) for (const offset of offsets) met[offset] = 0;
  for (const offset of found) lastGroup[offset] = 0;
  return { offsets: found.filter((offset) => (met[offset] as number) > 0), weights, met };
}

function addList({ offsets, weights: added }: Postings, group: number, found: number[]): void {
  for (let i = 0; i < offsets.length; i++) {
    const offset = offsets[i] as number;
    const last = lastGroup[offset] as number;
    if (last === 0) {
      found.push(offset);
      weights[offset] = 0;
      met[offset] = 0;
    }
    if (last !== group) {
      lastGroup[offset] = group;
      met[offset] = (met[offset] as number) + 1;
    }
    weights[offset] = (weights[offset] as number) + (added[i] as number);
  }
}
