import { LRUCache } from 'lru-cache';
import type { FormRecord } from '../stores/forms.js';
import type { Node } from '../stores/nodes.js';
import type { TableKind } from '../tables/kind.js';
import { type Binding, bindFields } from './columns.js';

/** A form beside its table's columns. */
export interface TableBinding extends Binding {
  /** Equal for equal columns. */
  readonly signature: string;
}

/** Remembers how forms are bound, as long as neither form nor table changes. */
export interface Bindings {
  of(form: FormRecord, node: Pick<Node, 'id' | 'contentVersion'>): Promise<TableBinding>;
}

export function createBindings(table: Pick<TableKind, 'columns'>): Bindings {
  const known = new LRUCache<string, { readonly key: string; readonly binding: Promise<TableBinding> }>({ max: 1000 });

  async function bind({ config }: FormRecord, tableId: string): Promise<TableBinding> {
    const columns = await table.columns(tableId);
    return { ...bindFields(config, columns), signature: JSON.stringify(columns) };
  }

  return {
    of(form, { id, contentVersion }) {
      const key = `${form.version}.${contentVersion}`;
      const held = known.get(form.id);
      if (held?.key === key) return held.binding;
      const binding = bind(form, id);
      known.set(form.id, { key, binding });
      binding.catch(() => known.delete(form.id));
      return binding;
    },
  };
}
