import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { IndexEntry, IndexService } from '@commonplace/proto/resources/v1/index_service.js';

/** Bytes of content, about, that are fetched at once: a hundred long documents would be more than a message may hold. */
const FETCHED_BYTES = 1024 * 1024;

/** The present entries of some of the ids that were asked for. */
export interface Fetched {
  readonly ids: readonly string[];
  readonly entries: readonly IndexEntry[];
}

/** Fetches the entries of ids from the tree's owner, no more at once than memory and a message have room for. */
export async function* fetchEntries(
  resources: Pick<Client<IndexService>, 'getIndexEntries'>,
  ids: readonly string[],
  options: () => CallOptions,
): AsyncGenerator<Fetched> {
  for (let asked = [...ids]; asked.length > 0; ) {
    const { entries, leftIds } = await resources.getIndexEntries({ ids: asked, mostBytes: FETCHED_BYTES }, options());
    const left = new Set(leftIds);
    yield { ids: asked.filter((id) => !left.has(id)), entries };
    if (leftIds.length >= asked.length) throw new Error('the owner of the tree gives none of its entries');
    asked = leftIds;
  }
}
