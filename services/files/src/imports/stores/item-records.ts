import type { Collection } from '@commonplace/kit/store';
import type { ItemRecord } from './records.js';

interface ItemParts {
  readonly importItems: Collection<ItemRecord>;
}

/** Yields all item records of an import in order, in chunks of a thousand. */
export async function* itemRecords({ importItems }: ItemParts, importId: string): AsyncGenerator<ItemRecord[]> {
  let after: readonly (string | number | boolean)[] | undefined;
  for (;;) {
    const chunk: ItemRecord[] = await importItems.find({
      where: { importId },
      sort: ['seq'],
      limit: 1000,
      after,
    });
    if (chunk.length > 0) yield chunk;
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < 1000) return;
    after = [last.seq, last.id];
  }
}
