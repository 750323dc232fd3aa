import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { AccessibleResource, IndexService } from '@commonplace/proto/resources/v1/index_service.js';

/** The owner of the tree: what a caller may find, and whether they still may. */
export type TreeOwner = Pick<Client<IndexService>, 'getSearchFilter' | 'checkAccess' | 'locatePlaces'>;

/** Hits asked for when some were refused, for each one that is missing. */
export const OVERFETCH = 3;
/** Times that a page is refilled; a page that is short then says where it goes on. */
export const MOST_REFILLS = 8;

/** Those of the hits that the caller may read now, by id. */
export async function recheck(
  resources: TreeOwner,
  hits: readonly { readonly id: string }[],
  context: CallContext,
): Promise<Map<string, AccessibleResource>> {
  if (hits.length === 0) return new Map();
  const checked = await resources.checkAccess({ ids: [...new Set(hits.map(({ id }) => id))] }, context.onward);
  return new Map(checked.resources.map((resource) => [resource.id, resource]));
}
