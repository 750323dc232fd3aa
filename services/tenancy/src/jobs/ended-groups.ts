import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume } from '@commonplace/platform/events';
import { endPlace } from '../acts/group-places.js';
import { publishing } from '../events.js';
import type { Parts } from '../parts.js';

/** Number of places that one unit of work deletes. */
const BATCH = 500;

/**
 * Deletes group memberships that no longer grant anything: those of a deleted group, and those of a person who was
 * added to a group while being removed from the Org.
 */
export function watchEndedGroups(parts: Parts, bus: EventBus): Promise<Subscription> {
  const spec = {
    consumer: 'tenancy.ended-groups',
    events: ['tenancy.group.deleted', 'tenancy.org_member.removed'],
  } as const;
  return consume(bus, spec, async (event) => {
    if (event.name === 'tenancy.group.deleted') await removePlaces(parts, event.data.groupId);
    else await removePlacesOfMember(parts, event.data);
  });
}

/** Deletes all places in a group that does not exist any more. */
export async function removePlaces({ store, groups }: Parts, groupId: string): Promise<void> {
  for (;;) {
    const places = await groups.members.find({ where: { groupId }, limit: BATCH });
    if (places.length === 0) return;
    const work = store.begin();
    for (const place of places) work.remove(groups.members, place);
    await work.commit();
  }
}

async function removePlacesOfMember(
  parts: Parts,
  { orgId, userId, memberId }: { readonly orgId: string; readonly userId: string; readonly memberId: string },
): Promise<void> {
  if (userId === '') return;
  const left = (await parts.groups.placesIn(orgId, userId)).filter(({ orgMemberId }) => orgMemberId === memberId);
  if (left.length === 0) return;
  const work = parts.store.begin();
  for (const place of left) endPlace(parts, publishing(work), place);
  await work.commit();
}
