import { createEvent, type DomainEvent, type EventBus, type Subscription, systemActor } from '@commonplace/kit/events';
import { inWork, type Where } from '@commonplace/kit/store';
import {
  type Departure,
  type Departures,
  findSuccessor,
  type Successor,
  watchDepartures,
} from '@commonplace/platform/departures';
import { consume } from '@commonplace/platform/events';
import type { Parts } from '../parts.js';
import { type AgentRecord, leftWorkspaces } from '../stores/agents.js';

type FollowParts = Pick<Parts, 'agents' | 'agentPins' | 'auth' | 'memberships' | 'store' | 'systemCall'>;
type LeaverParts = FollowParts & { readonly departures: Departures };

/** Number of records that one query reads. */
const CHUNK = 200;

/**
 * Subscribes to owners of agents leaving. If an owner leaves a workspace, their agents no longer act there. If an owner
 * leaves an Org, their agents are paused and go to the successor, if one was named; without a successor they stay
 * paused until the owner returns or an administrator deletes them.
 */
export function watchLeavers(parts: LeaverParts, bus: EventBus): Promise<Subscription> {
  return watchDepartures(bus, 'agents.leavers', parts, {
    leaveWorkspace: (userId, workspaceId) => leaveWorkspace(parts, userId, workspaceId),
    leaveOrg: (userId, orgId, successor) => leaveOrg(parts, userId, orgId, successor),
  });
}

/**
 * Follows agents that are created or changed by owners who left at the same moment: `watchLeavers` may have looked
 * before that was there. They end like the others.
 */
export function watchLateAgents(parts: LeaverParts, bus: EventBus): Promise<Subscription> {
  const events = ['agents.agent.created', 'agents.agent.updated'] as const;
  return consume(bus, { consumer: 'agents.late-agents', events }, async ({ subject }) => {
    const agent = await parts.agents.get(subject);
    if (agent === undefined) return;
    const { id, ownerId, orgId, workspaceIds } = agent;
    const departures = new Map<string, Departure>();
    for (const placeId of [orgId, ...workspaceIds]) {
      const departure = (await parts.departures.from(placeId, [ownerId])).get(ownerId);
      if (departure !== undefined) departures.set(placeId, departure);
    }
    if (departures.size === 0) return;
    const person = await parts.memberships.fresh(ownerId, parts.systemCall());
    for (const workspaceId of workspaceIds) {
      if (departures.has(workspaceId) && !person.workspaces.has(workspaceId))
        await leaveWorkspace(parts, ownerId, workspaceId, { id });
    }
    const left = departures.get(orgId);
    if (left === undefined || person.orgs.has(orgId)) return;
    await leaveOrg(parts, ownerId, orgId, await findSuccessor(parts, orgId, left.successorId), { id });
  });
}

/** Ends the acting of an owner's agents, or of one of them, in a workspace that the owner has left. */
function leaveWorkspace(
  parts: FollowParts,
  ownerId: string,
  workspaceId: string,
  only: Where<AgentRecord> = {},
): Promise<void> {
  return changeAll(parts, { ...only, ownerId, workspaceIds: { contains: workspaceId } }, (agent) =>
    withPlaces(agent, (place) => place.workspaceId !== workspaceId),
  );
}

/** Hands the agents of an owner who has left an Org over, or one of them, or pauses them without a successor. */
async function leaveOrg(
  parts: FollowParts,
  ownerId: string,
  orgId: string,
  successor: Successor | undefined,
  only: Where<AgentRecord> = {},
): Promise<void> {
  // Agents with a new owner no longer match; agents without a successor are paused and no longer match.
  const where: Where<AgentRecord> = { ...only, ownerId, orgId, ...(successor === undefined && { status: 'active' }) };
  await changeAll(parts, where, (agent) => {
    if (successor === undefined) return { ...agent, status: 'paused' };
    const kept = withPlaces(agent, (place) => successor.workspaces.has(place.workspaceId));
    return { ...kept, status: 'paused', visibility: 'private', ownerId: successor.id, ownerName: successor.name };
  });
}

function withPlaces(agent: AgentRecord, keeps: (place: AgentRecord['places'][number]) => boolean): AgentRecord {
  const places = agent.places.filter(keeps);
  return { ...agent, places, workspaceIds: places.map(({ workspaceId }) => workspaceId) };
}

/** Changes all agents that match a filter. The change must make each agent stop matching, or the loop would not end. */
async function changeAll(
  { agents, store }: FollowParts,
  where: Where<AgentRecord>,
  change: (agent: AgentRecord) => AgentRecord,
): Promise<void> {
  for (;;) {
    const found = await agents.find({ where, limit: CHUNK });
    for (const { id } of found) {
      await inWork(store, async (work) => {
        const agent = await work.get(agents, id);
        if (agent === undefined) return;
        const changed = { updatedBy: systemActor('agents'), updatedAt: new Date().toISOString() };
        const after = { ...change(agent), ...changed };
        work.replace(agents, agent, after);
        work.publish(updatedEvent(after, leftWorkspaces(agent, after)));
      });
    }
    if (found.length < CHUNK) return;
  }
}

function updatedEvent({ id, orgId, tenant }: AgentRecord, leftWorkspaceIds: readonly string[]): DomainEvent {
  const data = { agentId: id, orgId, changedFields: ['status', 'workspaces'], leftWorkspaceIds };
  const about = { service: 'agents', type: 'agent.updated', subject: id, data, tenant };
  return createEvent({ ...about, actor: systemActor('agents') });
}

/** Removes the pins of purged resources. They would be invisible, but count towards the limit. */
export function watchPurgedResources(parts: FollowParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'agents.purged-resources', events: ['resources.resource.purged'] } as const;
  return consume(bus, spec, async ({ data: { resourceIds: ids } }) => {
    for (let from = 0; from < ids.length; from += CHUNK) await unpin(parts, ids.slice(from, from + CHUNK));
  });
}

async function unpin({ agentPins, store }: FollowParts, gone: readonly string[]): Promise<void> {
  for (;;) {
    const lists = await agentPins.find({ where: { resourceIds: { containsAny: gone } }, limit: CHUNK });
    for (const { id } of lists) {
      await inWork(store, async (work) => {
        const list = await work.get(agentPins, id);
        if (list === undefined) return;
        const pins = list.pins.filter(({ resourceId }) => !gone.includes(resourceId));
        work.replace(agentPins, list, { ...list, pins, resourceIds: pins.map(({ resourceId }) => resourceId) });
      });
    }
    if (lists.length < CHUNK) return;
  }
}
