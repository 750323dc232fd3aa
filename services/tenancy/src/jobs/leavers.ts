import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import { disconnect } from '../acts/disconnect.js';
import { orgsOf, workspacesOf } from '../acts/seen.js';
import { publishing } from '../events.js';
import type { Parts } from '../parts.js';
import { pinListId } from '../stores/pins.js';

const LEFT = ['commonplace.tenancy.workspace_member.removed', 'commonplace.tenancy.org_member.removed'];

/** Deletes the connections and own pins of people in the workspaces that they leave. */
export function watchLeavers(parts: Parts, bus: EventBus): Promise<Subscription> {
  return bus.subscribe({ consumer: 'tenancy.leavers', types: LEFT }, async (events) => {
    for (const event of events) await follow(parts, event);
  });
}

/** Handles one event by the current state, so that somebody who was added again in the meantime loses nothing. */
async function follow(parts: Parts, { data, tenant }: DomainEvent): Promise<void> {
  const { userId, workspaceId } = data;
  if (typeof userId !== 'string' || userId === '' || tenant === undefined) return;
  const connections = await parts.connectors.connectionsOfPerson(userId, tenant);
  const places = new Set(connections.map((connection) => connection.workspaceId));
  if (typeof workspaceId === 'string') places.add(workspaceId);
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
