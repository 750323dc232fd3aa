import type { Collection } from '@commonplace/kit/store';
import type { SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Node } from '../domain/node.js';
import type { PublicationRecord } from './records.js';

/** The state of a publication for its readers at a moment. */
export type PublicationState = 'active' | 'expired' | 'unpublished' | 'suspended';

/**
 * Returns the state. `there` is whether the item can be shown: not deleted, in the trash, or restricted after
 * publishing.
 */
export function stateOf(
  { active, expiresAt, suspendedAt }: Pick<PublicationRecord, 'active' | 'expiresAt' | 'suspendedAt'>,
  terms: Pick<SharingTerms, 'allowPublicPublishing'>,
  there: boolean,
  now: string,
): PublicationState {
  if (!active) return 'unpublished';
  if (suspendedAt !== undefined) return 'suspended';
  if (expiresAt !== undefined && expiresAt <= now) return 'expired';
  return !terms.allowPublicPublishing || !there ? 'suspended' : 'active';
}

/**
 * Returns whether a node was restricted after it was published; readers may not see it unless it is published again.
 */
export function restrictedSince(
  { boundary, workspaceId }: Pick<Node, 'boundary' | 'workspaceId'>,
  publication: Pick<PublicationRecord, 'boundary'>,
): boolean {
  return boundary !== workspaceId && boundary !== publication.boundary;
}

/** Returns the publication of an item, by the item's id. */
export async function publicationOf(
  publications: Collection<PublicationRecord>,
  itemId: string,
): Promise<PublicationRecord | undefined> {
  const [found] = await publications.find({ where: { itemId }, limit: 1 });
  return found;
}
