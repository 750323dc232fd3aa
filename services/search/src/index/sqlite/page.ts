import { USUAL_FIELDS } from '../../domain/narrowing.js';
import type { Patterns } from '../../domain/pattern.js';
import type { GroupPatterns } from '../../domain/query.js';
import { OTHER_FORM, scoreOf } from '../../domain/score.js';
import type { IndexQuery } from '../port.js';
import { admittedRows } from './admitted.js';
import type { IndexFile } from './file.js';
import { postingsOf } from './postings.js';
import type { Scope } from './scope.js';
import { statisticsOf } from './statistics.js';
import { type GroupPostings, tally } from './tally.js';
import { createTop } from './top.js';
import { exactly, type Total } from './totals.js';

/** The patterns of a search: groups to match, patterns that raise the score, and patterns to exclude. */
interface SearchPatterns {
  readonly groups: readonly GroupPatterns[];
  readonly boosts: readonly Patterns[];
  readonly excluded: readonly Patterns[];
}

interface Page extends Total {
  /** Returns all matching rows. */
  rows(): number[];
  readonly ranked: readonly { readonly row: number; readonly score: number }[];
}

/** Returns a page of hits: those with all terms first, then, unless the query asks for all, those with some. */
export function pageOf(file: IndexFile, query: IndexQuery, scope: Scope, sought: SearchPatterns): Page {
  const { offset, limit, minScore = 0, fields = USUAL_FIELDS, every = false } = query;
  const group = (patterns: Patterns, times = 1): GroupPostings => ({
    forms: patterns.map((pattern, i) => ({
      list: postingsOf(file, scope, pattern, fields),
      share: i === 0 ? 1 : OTHER_FORM,
    })),
    times,
  });
  const groups = sought.groups.map(({ patterns, times }) => group(patterns, times));
  const boosts = sought.boosts.map((patterns) => group(patterns));
  const excluded = sought.excluded.map((patterns) => group(patterns));
  const { offsets, weights, met, whole } = tally(scope.rows, groups, boosts, excluded, statisticsOf(file, scope));
  const admitted = admittedRows(file, scope, offsets);
  const weight = (row: number): number => weights[row] as number;
  const all = (row: number): boolean => whole[row] === groups.length;
  const hits = offsets.filter(
    (row) =>
      (admitted === undefined || admitted[row] === 1) &&
      (!every || met[row] === groups.length) &&
      (minScore === 0 || scoreOf(weight(row), all(row)) >= minScore),
  );
  const before = (a: number, b: number): boolean => {
    if (all(a) !== all(b)) return all(a);
    return weight(a) !== weight(b) ? weight(a) > weight(b) : a < b;
  };
  const first = createTop(offset + limit, before);
  for (const row of hits) first.add(row);
  const top = first.sorted().slice(offset);
  return {
    rows: () => hits.map((row) => scope.firstRow + row),
    ranked: top.map((row) => ({ row: scope.firstRow + row, score: scoreOf(weight(row), all(row)) })),
    ...exactly(hits.length),
  };
}
