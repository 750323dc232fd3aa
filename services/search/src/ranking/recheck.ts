import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { AccessibleResource, IndexService } from '@commonplace/proto/resources/v1/index_service.js';

/** The owner of the tree, which knows what a caller may find and still may read. */
export type TreeOwner = Pick<
  Client<IndexService>,
  'getSearchFilter' | 'checkAccess' | 'getShownTexts' | 'locatePlaces'
>;

/** Hits that are requested per missing one when some were refused. */
export const OVERFETCH = 3;
/** Maximum refills of a page; a shorter page then states where to continue. */
export const MAX_REFILLS = 8;

/** Returns those of the hits that the caller may read now, by id. */
export async function recheck(
  resources: TreeOwner,
  hits: readonly { readonly id: string }[],
  context: CallContext,
): Promise<Map<string, AccessibleResource>> {
  if (hits.length === 0) return new Map();
  const checked = await resources.checkAccess({ ids: [...new Set(hits.map(({ id }) => id))] }, context.onward);
  return new Map(checked.resources.map((resource) => [resource.id, resource]));
}
