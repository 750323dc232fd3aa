import type { EventBus, Subscription } from '@commonplace/kit/events';
import { consume, MEMBER_LEFT, type TypedEvent } from '@commonplace/platform/events';
import { disconnect } from '../acts/disconnect.js';
import { orgsOf, workspacesOf } from '../acts/seen.js';
import { publishing } from '../events.js';
import type { Parts } from '../parts.js';
import { pinListId } from '../stores/pins.js';

/** Deletes the connections and own pins of people in the workspaces that they leave. */
export function watchLeavers(parts: Parts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'tenancy.leavers', events: MEMBER_LEFT }, (event) => follow(parts, event));
}

/** Handles one event by the current state, so that a person who was added again in the meantime loses nothing. */
async function follow(parts: Parts, event: TypedEvent<(typeof MEMBER_LEFT)[number]>): Promise<void> {
  const { userId } = event.data;
  const { tenant } = event;
  if (userId === '' || tenant === undefined) return;
  const connections = await parts.connectors.connectionsOfPerson(userId, tenant);
  const places = new Set(connections.map((connection) => connection.workspaceId));
  if (event.name === 'tenancy.workspace_member.removed') places.add(event.data.workspaceId);
  if (places.size === 0) return;
  const left = await leftBy(parts, userId, places);
  const work = parts.store.begin();
  for (const place of left) {
    const own = await parts.pinLists.records.get(pinListId(place, 'me', userId));
    if (own !== undefined) work.remove(parts.pinLists.records, own);
  }
  const ended = connections.filter((connection) => left.has(connection.workspaceId));
  await disconnect(parts, publishing(work), ended);
  if (work.dirty) await work.commit();
}

/** Returns the workspaces in which a person has no membership any more, whether suspended or by `default_role`. */
async function leftBy(parts: Parts, userId: string, places: ReadonlySet<string>): Promise<Set<string>> {
  const seen = await workspacesOf(parts, userId, await orgsOf(parts, userId), () => true);
  const kept = await parts.workspaceMembers.ofPersonIn([...places], userId);
  const here = new Set([...seen.map(({ workspace }) => workspace.id), ...kept.map((place) => place.workspaceId)]);
  return new Set([...places].filter((place) => !here.has(place)));
}
