import { USUAL_FIELDS } from '../../domain/narrowing.js';
import type { Patterns } from '../../domain/pattern.js';
import { EXACT_TOTAL, type IndexAnswer, type IndexQuery, MAX_FACETED_MATCHES } from '../port.js';
import { countFacets, facetColumns } from './facets.js';
import type { IndexFile } from './file.js';
import { matchAny } from './match.js';
import type { Scope } from './scope.js';
import { bareHits, hitOf } from './texts.js';
import { totalOf } from './totals.js';

/** Answers a query without words: returns what its filters admit, last updated first. */
export function browse(file: IndexFile, query: IndexQuery, scope: Scope, excluded: readonly Patterns[]): IndexAnswer {
  const { offset, limit, fields = USUAL_FIELDS, facets = [] } = query;
  const conditions = [scope.named ? '+e.row BETWEEN ? AND ?' : 'e.row BETWEEN ? AND ?', ...scope.conditions];
  const params = [scope.firstRow, scope.lastRow, ...scope.params];
  if (excluded.length > 0) {
    const leaveOut = (table: string, match: string): void => {
      conditions.push(`e.row NOT IN (SELECT rowid FROM ${table} WHERE ${table} MATCH ? AND rowid BETWEEN ? AND ?)`);
      params.push(match, scope.firstRow, scope.lastRow);
    };
    for (const field of fields) {
      if (field === 'comments') leaveOut('comment_terms', matchAny(excluded));
      else leaveOut('terms', matchAny(excluded, field));
    }
  }
  const from = `FROM entries e WHERE ${conditions.join(' AND ')}`;
  const rows = file.db.all(`SELECT e.row ${from} ORDER BY e.updated_at DESC, e.row DESC LIMIT ? OFFSET ?`, [
    ...params,
    limit,
    offset,
  ]);
  const counting = `SELECT count(*), max(row) FROM (SELECT e.row AS row ${from} ORDER BY e.row LIMIT ?)`;
  const [count, lastRow] = file.db.get(counting, [...params, EXACT_TOTAL + 1]) ?? [];
  const total = totalOf(scope, { count: Number(count), lastRow: Number(lastRow) });
  return {
    hits: query.bare
      ? bareHits(
          file,
          rows.map(([row]) => ({ row: Number(row), score: 1 })),
        )
      : rows.map(([row]) => hitOf(file, { row: Number(row), score: 1, groups: [], fields, highlight: false })),
    ...total,
    more: offset + rows.length < total.total,
    facets:
      facets.length === 0
        ? {}
        : countFacets(
            facets,
            file.db.all(`SELECT ${facetColumns(facets)} ${from} LIMIT ?`, [...params, MAX_FACETED_MATCHES]),
          ),
    complete: file.complete,
  };
}
