import { LRUCache } from 'lru-cache';
import type { Node } from '../domain/node.js';
import type { Column } from '../tables/column.js';
import type { TableKind } from '../tables/kind.js';
import { type Binding, bindFields } from './columns.js';
import type { FormRecord } from './records.js';

/** A form's fields bound to the columns of its table. */
export interface TableBinding extends Binding {
  /** Equal for equal columns. */
  readonly signature: string;
}

/** Caches the bindings of forms; a change of the form or its table invalidates them. */
export interface Bindings {
  of(form: FormRecord, node: Pick<Node, 'id' | 'contentVersion'>): Promise<TableBinding>;
  /** Records the columns of a table's version, so that they need not be read again. */
  note(form: FormRecord, node: Pick<Node, 'contentVersion'>, columns: readonly Column[]): Promise<void>;
}

export function createBindings(table: Pick<TableKind, 'columns'>): Bindings {
  const known = new LRUCache<string, { readonly key: string; readonly binding: Promise<TableBinding> }>({ max: 1000 });

  async function bind({ config }: FormRecord, tableId: string): Promise<TableBinding> {
    const columns = await table.columns(tableId);
    return { ...bindFields(config, columns), signature: JSON.stringify(columns) };
  }

  const keyOf = (form: FormRecord, { contentVersion }: Pick<Node, 'contentVersion'>) =>
    `${form.version}.${contentVersion}`;

  return {
    of(form, node) {
      const key = keyOf(form, node);
      const held = known.get(form.id);
      if (held?.key === key) return held.binding;
      const binding = bind(form, node.id);
      known.set(form.id, { key, binding });
      binding.catch(() => known.delete(form.id));
      return binding;
    },
    async note(form, node, columns) {
      const held = known.get(form.id);
      if (held === undefined || !held.key.startsWith(`${form.version}.`)) return;
      const { signature } = await held.binding;
      if (signature === JSON.stringify(columns)) known.set(form.id, { ...held, key: keyOf(form, node) });
    },
  };
}
