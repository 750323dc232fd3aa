import { isOfOlderPeer } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Grant } from '../domain/grant.js';
import { splitPrincipal } from '../domain/principals.js';
import type { SharingParts } from './parts.js';

/**
 * Returns the names of the groups that grants of one tenant name, by group id; those of deleted groups are missing.
 * Returns undefined if it is unknown which groups exist, because tenancy has the version before.
 */
export async function groupNames(
  { peers }: Pick<SharingParts, 'peers'>,
  grants: readonly Pick<Grant, 'principal' | 'tenant'>[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<ReadonlyMap<string, string> | undefined> {
  const named = grants.filter(({ principal }) => splitPrincipal(principal).kind === 'group');
  const [first] = named;
  if (first === undefined) return new Map();
  const groupIds = [...new Set(named.map(({ principal }) => splitPrincipal(principal).id))];
  try {
    const { items } = await peers.directory.lookUpGroups({ orgId: first.tenant, groupIds }, onward);
    return new Map(items.map(({ groupId, name }) => [groupId, name]));
  } catch (error) {
    if (isOfOlderPeer(error)) return undefined;
    throw error;
  }
}

/** Returns the grants without those of groups that were deleted a moment ago, which are removed in the background. */
export async function withoutDeletedGroups(
  parts: SharingParts,
  grants: readonly Grant[],
  context: CallContext,
): Promise<readonly Grant[]> {
  const names = await groupNames(parts, grants, context);
  if (names === undefined) return grants;
  return grants.filter(({ principal }) => {
    const { kind, id } = splitPrincipal(principal);
    return kind !== 'group' || names.has(id);
  });
}
