import type { Query } from '@commonplace/kit/store';
import type { Connection } from './file/binding.js';
import type { TableShape } from './schema.js';
import { selectPage } from './select.js';

/**
 * Returns how SQLite would run a query. `indexed` is false if a condition is evaluated on every record, or if the
 * requested order is produced by sorting; a query without an order may sort the few ids that it finds.
 */
export function explain<T>(reader: Connection, shape: TableShape, query: Query<T>): { indexed: boolean; plan: string } {
  const { sql, params } = selectPage(shape, query, ['doc']);
  const all = reader.all(`EXPLAIN QUERY PLAN ${sql}`, params).map((row) => String(row[3]));
  // What follows the queue of merged streams sorts no more than a page.
  const end = all.indexOf('SCAN merged');
  const steps = end < 0 ? all : all.slice(0, end);
  const filtered = Object.keys(query.where).length > 0;
  const scans = steps.some((step) => step.startsWith(`SCAN ${shape.table}`) && (filtered || !step.includes(' USING ')));
  const sorts = (query.sort?.length ?? 0) > 0 && steps.some((step) => step.startsWith('USE TEMP B-TREE'));
  return { indexed: !scans && !sorts, plan: all.join('\n') };
}
