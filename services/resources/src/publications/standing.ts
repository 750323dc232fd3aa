import type { Collection } from '@commonplace/kit/store';
import type { SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Node } from '../stores/nodes.js';
import type { PublicationRecord } from '../stores/publications.js';

/** How a publication stands for its readers at a moment. */
export type PublicationState = 'active' | 'expired' | 'unpublished' | 'suspended';

/** `there`: what is published can be shown: it is neither gone nor in the trash, nor restricted since. */
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

/** What was restricted since it was published is nobody's to read, unless it is published again. */
export function restrictedSince(
  { boundary, workspaceId }: Pick<Node, 'boundary' | 'workspaceId'>,
  publication: Pick<PublicationRecord, 'boundary'>,
): boolean {
  return boundary !== workspaceId && boundary !== publication.boundary;
}

/** The publication of an item, by the item's id. */
export async function publicationOf(
  publications: Collection<PublicationRecord>,
  itemId: string,
): Promise<PublicationRecord | undefined> {
  const [found] = await publications.find({ where: { itemId }, limit: 1 });
  return found;
}
