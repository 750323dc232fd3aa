import {
  type CollectionSpec,
  inWork,
  keyset,
  replaceChanged,
  type Store,
  type StoredRecord,
} from '@commonplace/kit/store';

/** Maximum number of records that one commit changes. */
const CHUNK = 200;

/**
 * Adds fields that earlier releases did not store to all records of a collection. It may be repeated, and other processes
 * may write to the collection meanwhile. The version of a record that gets fields increases.
 */
export async function addFields<T extends StoredRecord>(
  store: Store,
  spec: CollectionSpec<T>,
  fieldsOf: (record: T) => Partial<T>,
): Promise<void> {
  const records = await store.collection(spec);
  let last: T | undefined;
  do {
    const after = last && { after: keyset(last) };
    last = await inWork(store, async (work) => {
      const found = await records.find({ where: {}, limit: CHUNK, ...after });
      for (const record of found) replaceChanged(work, records, record, { ...record, ...fieldsOf(record) });
      return found.at(-1);
    });
  } while (last !== undefined);
}
