import { type Collection, findPages } from '@commonplace/kit/store';
import type { ItemRecord } from './records.js';

interface ItemParts {
  readonly importItems: Collection<ItemRecord>;
}

/** Yields all item records of an import in order, in chunks of a thousand. */
export function itemRecords({ importItems }: ItemParts, importId: string): AsyncGenerator<ItemRecord[]> {
  return findPages(importItems, { where: { importId }, sort: ['seq'] }, 1000);
}
