import { rarity, saturated } from '../../domain/bm25.js';
import type { Postings } from './postings.js';
import type { Statistics } from './statistics.js';

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
  statistics: Statistics,
): Tallied {
  if (weights.length < rows) {
    const room = Math.ceil(rows * 1.5);
    weights = new Float32Array(room);
    met = new Uint8Array(room);
    lastGroup = new Uint8Array(room);
  }
  const found: number[] = [];
  groups.forEach((lists, index) => {
    for (const list of lists) addList(list, index + 1, found, statistics);
  });
  for (const list of boosts) {
    const { offsets } = list;
    const weigh = weigherOf(list, statistics);
    for (let i = 0; i < offsets.length; i++) {
      const offset = offsets[i] as number;
      if (lastGroup[offset] !== 0) weights[offset] = (weights[offset] as number) + weigh(i, offset);
    }
  }
  for (const { offsets } of excluded) for (const offset of offsets) met[offset] = 0;
  for (const offset of found) lastGroup[offset] = 0;
  return { offsets: found.filter((offset) => (met[offset] as number) > 0), weights, met };
}

/** What the entry of a list weighs: BM25 by the statistics. */
function weigherOf(list: Postings, statistics: Statistics): (i: number, offset: number) => number {
  const { values } = list;
  if (list.weighed) return (i) => values[i] as number;
  const rare = rarity(statistics.entries, statistics.matching(list));
  return (i, offset) => rare * saturated(values[i] as number, statistics.damping(offset));
}

function addList(list: Postings, group: number, found: number[], statistics: Statistics): void {
  const { offsets } = list;
  const weigh = weigherOf(list, statistics);
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
    weights[offset] = (weights[offset] as number) + weigh(i, offset);
  }
}
