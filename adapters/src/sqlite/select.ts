import type { Query, Scalar, Where } from '@commonplace/kit/store';
import { invalidCursor, type SortTerm, sortTerms } from '@commonplace/kit/store';
import { type Element, elementInOrder, tableOfFew } from './index-part.js';
import type { DOC_ALONE, DOC_OF_SEVERAL } from './large-pages.js';
import { findMerge, mergeArms } from './merge.js';
import { elementTable, type TableShape } from './schema.js';
import { selectMerged } from './select-merged.js';
import { findStreams, type Streams } from './streams.js';
import { fieldOf, join, type Sql, translate } from './translate.js';
import { valueExpression } from './values.js';

/**
 * Returns the statement that reads a page. Its rows begin with these columns. `isLong` says that the conditions for which
 * there is an index select many records, which are not sorted if alternatives of the filter have them in order.
 */
export function selectPage<T>(
  shape: TableShape,
  query: Query<T>,
  columns: readonly ('id' | 'doc' | typeof DOC_ALONE | typeof DOC_OF_SEVERAL)[],
  isLong = true,
): Sql {
  const { where, anyOrder = false } = query;
  const terms = anyOrder ? [] : orderTerms(shape, sortTerms(query.sort));
  const fields = terms.map(({ field }) => field);
  const source = isLong ? shape.source : tableOfFew(shape, where, fields);
  const passed = query.after === undefined ? undefined : terms[0];
  if (anyOrder) return limited(selectRows(shape, source, query, [], undefined, columns), query);
  const element = elementInOrder(shape, where, fields);
  if (element !== undefined) return limited(selectByElement(shape, element, query, columns), query);
  const [after, each] = [keysetCondition(shape, terms, query), presence(shape, terms)];
  const behind = [...after, ...each];
  const merge = findMerge(shape, where, terms);
  const streams = merge === undefined ? findStreams(shape, where, terms, isLong) : [];
  if (streams.length > 0) {
    return selectMerged(shape, streams, { terms, each, after, columns, limit: limitOf(query) });
  }
  const rows =
    merge === undefined
      ? selectRows(shape, source, query, behind, passed, columns)
      : mergeArms(shape, merge, terms, behind, passed, columns);
  const order = terms.map(({ field, descending }, at) => {
    // The ORDER BY of a union refers to columns by position.
    const column = merge === undefined ? fieldOf(shape, field) : String(columns.length + at + 1);
    return `${column}${descending ? ' DESC' : ''}`;
  });
  return limited({ sql: `${rows.sql} ORDER BY ${order.join(', ')}`, params: rows.params }, query);
}

function limited<T>(rows: Sql, query: Query<T>): Sql {
  return join([rows, limitOf(query)], '');
}

function limitOf<T>({ limit, offset = 0 }: Query<T>): Sql {
  return {
    sql: ` LIMIT ?${offset > 0 ? ' OFFSET ?' : ''}`,
    params: [checkCount(limit), ...(offset > 0 ? [checkCount(offset)] : [])],
  };
}

/** Returns the streams of which a page is merged; none if it is read by other means. */
export function streamsOf<T>(
  shape: TableShape,
  { where, sort, anyOrder = false }: Query<T>,
  isLong: boolean,
): readonly Streams<T>[] {
  const terms = orderTerms(shape, sortTerms(sort));
  return anyOrder || findMerge(shape, where, terms) !== undefined ? [] : findStreams(shape, where, terms, isLong);
}

/**
 * Returns the statement that reads the records with an element in the order of their ids. It follows the table of
 * elements, so that a page costs as much as its records; a list of ids would be made of all records with the element.
 */
function selectByElement<T>(
  shape: TableShape,
  { field, value }: Element,
  query: Query<T>,
  columns: readonly string[],
): Sql {
  const [term] = sortTerms(query.sort);
  const elements = elementTable(shape.table, field);
  const { [field as keyof T & string]: _, ...rest } = query.where;
  const is = valueExpression(value);
  const found = { sql: `SELECT id AS of_id FROM ${elements} WHERE value = ${is.sql}`, params: is.params };
  const after = keysetCondition(shape, term === undefined ? [] : [term], query, () => 'of_id');
  const conditions = join([translate(shape, rest as Where<T>, true), ...after], ' AND ');
  return {
    sql:
      `SELECT ${columns.join(', ')} FROM (${found.sql}) CROSS JOIN ${shape.table} ON id = of_id ` +
      `WHERE ${conditions.sql} ORDER BY of_id${term?.descending ? ' DESC' : ''}`,
    params: [...found.params, ...conditions.params],
  };
}

function selectRows<T>(
  shape: TableShape,
  source: string,
  { where }: Query<T>,
  behind: readonly Sql[],
  passed: SortTerm | undefined,
  columns: readonly string[],
): Sql {
  const { sql, params } = join([translate(shape, where, false, passed), ...behind], ' AND ');
  return { sql: `SELECT ${columns.join(', ')} FROM ${source} WHERE ${sql}`, params };
}

/** Removes the terms that follow a field without ties, so that an index on that field alone gives the order. */
function orderTerms(shape: TableShape, terms: readonly SortTerm[]): readonly SortTerm[] {
  const last = terms.findIndex(({ field }) => field === 'id' || shape.unique.has(field));
  return terms.slice(0, last + 1);
}

/** Returns a redundant condition on a sparse index's field; without it, the planner would not use the index. */
function presence(shape: TableShape, terms: readonly SortTerm[]): Sql[] {
  const sparse = terms.filter(({ field }) => shape.sparse.has(field));
  return sparse.map(({ field }) => ({ sql: `${fieldOf(shape, field)} IS NOT NULL`, params: [] }));
}

/** Returns the condition for records after the keyset `after`; no condition if it is absent. */
function keysetCondition<T>(
  shape: TableShape,
  terms: readonly SortTerm[],
  { after, sort = [] }: Query<T>,
  nameOf = (field: string) => fieldOf(shape, field),
): Sql[] {
  if (after === undefined) return [];
  if (after.length !== sort.length + 1) throw invalidCursor();
  const parts = terms.map((term, at) => ({
    left: { sql: nameOf(term.field), params: [] },
    right: valueExpression(after[at] as Scalar),
    operator: term.descending ? '<' : '>',
  }));
  const [first] = parts;
  if (first === undefined) return [];
  if (parts.every(({ operator }) => operator === first.operator)) {
    const row = (side: readonly Sql[]): Sql => {
      const { sql, params } = join(side, ', ');
      return { sql: side.length === 1 ? sql : `(${sql})`, params };
    };
    return [join([row(parts.map(({ left }) => left)), row(parts.map(({ right }) => right))], ` ${first.operator} `)];
  }
  const ways = parts.map(({ left, right, operator }, at) => {
    const equal = parts.slice(0, at).map((part) => join([part.left, part.right], ' = '));
    return join([...equal, join([left, right], ` ${operator} `)], ' AND ');
  });
  const { sql, params } = join(
    ways.map((way) => ({ ...way, sql: `(${way.sql})` })),
    ' OR ',
  );
  // Repeats what the alternatives have in common, which the planner would not detect.
  const reach = join([first.left, first.right], ` ${first.operator}= `);
  return [reach, { sql: `(${sql})`, params }];
}

/** Returns a limit or offset. Throws RangeError for any value that is not a count. */
export function checkCount(count: number): number {
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is not a number of records`);
  return count;
}
