import type { Pattern } from '../../domain/pattern.js';
import { scoreOf, weightFor } from '../../domain/score.js';
import { EXACT_TOTAL, type Field, type IndexQuery } from '../port.js';
import { admittedRows } from './admitted.js';
import type { IndexFile } from './file.js';
import { matchOf, type Sought, type TermField, termField } from './match.js';
import { type Postings, postingsOf } from './postings.js';
import { countMatches, type Ranked, rank } from './rank.js';
import type { Scope } from './scope.js';
import { statisticsOf } from './statistics.js';
import { tally } from './tally.js';
import { createTop } from './top.js';
import { exactly, type Total, totalOf } from './totals.js';

export interface Page extends Total {
  /** All rows that match; undefined where the engine knows them alone. */
  readonly rows?: () => number[];
  readonly ranked: readonly { readonly row: number; readonly score: number }[];
}

/** Tenants with more rows have their matches ranked by the engine alone. */
const MOST_ROWS = 2_000_000;

/** The hits asked for: those with all terms first, then those with some. */
export function pageOf(file: IndexFile, query: IndexQuery, scope: Scope, sought: Sought): Page {
  const lists = listsOf(file, scope, sought, query);
  return lists === undefined ? pageByEngine(file, query, scope, sought) : pageByLists(file, query, scope, lists);
}

interface Lists {
  readonly groups: readonly (readonly Postings[])[];
  readonly boosts: readonly Postings[];
  readonly excluded: readonly Postings[];
}

/** The lists of all patterns; undefined where one is too long. With comments there are lists however long. */
function listsOf(file: IndexFile, scope: Scope, sought: Sought, { fields }: IndexQuery): Lists | undefined {
  const comments = fields?.includes('comments') ?? false;
  if (scope.rows > MOST_ROWS && !comments) return undefined;
  const within = termField(fields);
  const searched: (Field | undefined)[] = within === 'none' ? [] : [within];
  if (comments) searched.push('comments');
  const most = comments ? scope.rows : undefined;
  const all = (patterns: readonly Pattern[]): Postings[] | undefined => {
    const lists = searched.flatMap((field) => patterns.map((pattern) => postingsOf(file, scope, pattern, field, most)));
    return lists.every((list) => list !== undefined) ? lists : undefined;
  };
  const groups = sought.groups.map(all);
  const boosts = all(sought.boosts.flat());
  const excluded = all(sought.excluded.flat());
  if (!boosts || !excluded || !groups.every((lists) => lists !== undefined)) return undefined;
  return { groups, boosts, excluded };
}

function pageByLists(file: IndexFile, query: IndexQuery, scope: Scope, lists: Lists): Page {
  const { offset, limit, minScore = 0 } = query;
  const { offsets, weights, met } = tally(
    scope.rows,
    lists.groups,
    lists.boosts,
    lists.excluded,
    statisticsOf(file, scope),
  );
  const admitted = admittedRows(file, scope, offsets);
  const needed = lists.groups.length;
  const weight = (row: number): number => weights[row] as number;
  const all = (row: number): boolean => met[row] === needed;
  const hits = offsets.filter(
    (row) =>
      (admitted === undefined || admitted[row] === 1) && (minScore === 0 || scoreOf(weight(row), all(row)) >= minScore),
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

function pageByEngine(file: IndexFile, query: IndexQuery, scope: Scope, sought: Sought): Page {
  const { offset, limit, minScore } = query;
  const match = matchOf(sought, engineField(query));
  const tiers = sought.groups.length > 1;
  const end = offset + limit;
  const tier = (all: boolean): Ranked[] => {
    const least = minScore === undefined ? 0 : weightFor(minScore, all);
    if (least === undefined) return [];
    return rank(file, all ? match.all : match.any, scope, end, least > 0 ? least : undefined);
  };
  const first = tier(true);
  const ranked = first.map(({ row, weight }) => ({ row, score: scoreOf(weight, true) }));
  let complete = !tiers && first.length < end;
  if (tiers && first.length < end) {
    const have = new Set(first.map(({ row }) => row));
    const some = tier(false);
    for (const { row, weight } of some) if (!have.has(row)) ranked.push({ row, score: scoreOf(weight, false) });
    complete = some.length < end;
  }
  const total = complete ? exactly(ranked.length) : countByEngine(file, query, scope, sought);
  return { ranked: ranked.slice(offset, end), ...total };
}

/** How many match. With a least score, how many of the tier in which it lies. */
function countByEngine(file: IndexFile, query: IndexQuery, scope: Scope, sought: Sought): Total {
  const { minScore = 0 } = query;
  const all = sought.groups.length === 1 || minScore > 0.5;
  const match = matchOf(sought, engineField(query));
  const least = weightFor(minScore, all) ?? 0;
  const limit = EXACT_TOTAL + 1;
  return totalOf(scope, countMatches(file, all ? match.all : match.any, scope, limit, least > 0 ? least : undefined));
}

/** The engine is asked where comments are not. */
export function engineField({ fields }: IndexQuery): TermField {
  const field = termField(fields);
  return field === 'none' ? undefined : field;
}
