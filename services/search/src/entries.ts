import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { IndexEntry, IndexService } from '@commonplace/proto/resources/v1/index_service.js';

/** Approximate bytes of content per call: a hundred long documents would exceed the size of a message. */
const FETCHED_BYTES = 1024 * 1024;

/** Holds some of the requested ids, and the entries of those that exist. */
export interface FetchedEntries {
  readonly ids: readonly string[];
  readonly entries: readonly IndexEntry[];
}

/** Fetches the entries of ids from the owner of the tree, in portions that fit into memory and a message. */
export async function* fetchEntries(
  resources: Pick<Client<IndexService>, 'getIndexEntries'>,
  ids: readonly string[],
  options: () => CallOptions,
): AsyncGenerator<FetchedEntries> {
  for (let remaining = [...ids]; remaining.length > 0; ) {
    const { entries, leftIds } = await resources.getIndexEntries(
      { ids: remaining, mostBytes: FETCHED_BYTES },
      options(),
    );
    const left = new Set(leftIds);
    yield { ids: remaining.filter((id) => !left.has(id)), entries };
    if (leftIds.length >= remaining.length)
      throw new Error('the owner of the tree returned none of the requested entries');
    remaining = leftIds;
  }
}
