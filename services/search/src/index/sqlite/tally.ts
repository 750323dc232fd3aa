import { rarity, saturated } from '../../domain/bm25.js';
import type { Postings } from './postings.js';
import type { Statistics } from './statistics.js';

/** Lists of the forms of one group, of which the best counts in a row, with the share of their frequency that counts. */
export interface GroupPostings {
  readonly forms: readonly { readonly list: Postings; readonly share: number }[];
  /** Number of its occurrences in the query. */
  readonly times: number;
}

interface TallyResult {
  /** Rows that match a group and are not excluded, as offsets from the tenant's first. */
  readonly offsets: number[];
  readonly weights: Float32Array;
  /** Number of groups that each row matches. */
  readonly met: Uint8Array;
  /**
   * Number of groups that each row matches as written. A group that no row matches as written counts in its other
   * forms.
   */
  readonly whole: Uint8Array;
}

/**
 * Buffers that all tallies share, so that a search allocates little. `frequencies` and `seen` are 0 between two tallies.
 */
let weights = new Float32Array(0);
let frequencies = new Float32Array(0);
let met = new Uint8Array(0);
let whole = new Uint8Array(0);
let seen = new Uint8Array(0);

/**
 * Adds up the weights of rows over all groups; `rows` is the tenant's number of rows. The result is valid until the next
 * call.
 */
export function tally(
  rows: number,
  groups: readonly GroupPostings[],
  boosts: readonly GroupPostings[],
  excluded: readonly GroupPostings[],
  statistics: Statistics,
): TallyResult {
  if (weights.length < rows) makeRoom(Math.ceil(rows * 1.5));
  const found: number[] = [];
  for (const group of groups) {
    const having = weigh(group, statistics, (offset, weight) => {
      if (seen[offset] === 0) {
        found.push(offset);
        seen[offset] = 1;
        weights[offset] = 0;
        met[offset] = 0;
        whole[offset] = 0;
      }
      met[offset] = (met[offset] as number) + 1;
      weights[offset] = (weights[offset] as number) + weight;
    });
    for (let i = 0; i < having.length; i++) {
      const offset = having[i] as number;
      whole[offset] = (whole[offset] as number) + 1;
    }
  }
  for (const group of boosts) {
    weigh(group, statistics, (offset, weight) => {
      if (seen[offset] === 1) weights[offset] = (weights[offset] as number) + weight;
    });
  }
  for (const { forms } of excluded) for (const { list } of forms) for (const offset of list.offsets) met[offset] = 0;
  for (const offset of found) seen[offset] = 0;
  return { offsets: found.filter((offset) => (met[offset] as number) > 0), weights, met, whole };
}

function makeRoom(rows: number): void {
  weights = new Float32Array(rows);
  frequencies = new Float32Array(rows);
  met = new Uint8Array(rows);
  whole = new Uint8Array(rows);
  seen = new Uint8Array(rows);
}

/**
 * Calls `add` with each row of a group and its BM25 weight. Returns the rows that determine the rarity of the group:
 * those that match it as written, or if there are none, those that match another form. Words that begin with a word do
 * not make it more common.
 */
function weigh(
  { forms, times }: GroupPostings,
  statistics: Statistics,
  add: (offset: number, weight: number) => void,
): ArrayLike<number> {
  const [first, ...others] = forms;
  if (first === undefined) return [];
  const { offsets, values } = others.length === 0 ? first.list : united(forms);
  const written = statistics.matching(first.list.offsets);
  const factor = times * rarity(statistics.entries, written > 0 ? written : statistics.matching(offsets));
  for (let i = 0; i < offsets.length; i++) {
    const offset = offsets[i] as number;
    add(offset, factor * saturated(values[i] as number, statistics.damping(offset)));
  }
  return written > 0 ? first.list.offsets : offsets;
}

/** Returns the rows of all forms, each with its highest frequency. */
function united(forms: GroupPostings['forms']): { offsets: readonly number[]; values: readonly number[] } {
  const offsets: number[] = [];
  for (const { list, share } of forms) {
    for (let i = 0; i < list.offsets.length; i++) {
      const offset = list.offsets[i] as number;
      const before = frequencies[offset] as number;
      if (before === 0) offsets.push(offset);
      frequencies[offset] = Math.max(before, share * (list.values[i] as number));
    }
  }
  const values = offsets.map((offset) => frequencies[offset] as number);
  for (const offset of offsets) frequencies[offset] = 0;
  return { offsets, values };
}
