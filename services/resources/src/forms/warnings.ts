import type { Warning } from '../content/kind.js';
import type { Node } from '../domain/node.js';
import type { Column } from '../tables/column.js';
import { bindFields, bindingWarnings } from './columns.js';
import { type FormStores, formOf } from './records.js';

/** Returns what a change of a table's columns to these means for the table's form. */
export async function formWarnings(
  stores: Pick<FormStores, 'forms'>,
  node: Pick<Node, 'id'>,
  columns: readonly Column[],
): Promise<readonly Warning[]> {
  const form = await formOf(stores, node.id);
  return form === undefined ? [] : bindingWarnings(bindFields(form.config, columns), columns);
}
