import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, findEach, inWork, type UnitOfWork } from '@commonplace/kit/store';
import { type Departures, findSuccessor, type Successor, watchDepartures } from '@commonplace/platform/departures';
import { consume } from '@commonplace/platform/events';
import { handedOverTo } from '../acts-as.js';
import type { AutomationRecord, DefinitionRecord } from '../definitions/records.js';
import { retireDefinition, writeDefinition } from '../definitions/versions.js';
import type { Shared } from '../parts.js';
import { mayEdit } from '../policy.js';

export interface FollowParts
  extends Pick<Shared, 'store' | 'memberships' | 'peers' | 'systemCall' | 'now' | 'settings'> {
  readonly automations: Collection<AutomationRecord>;
  readonly definitions: Collection<DefinitionRecord>;
  readonly departures: Departures;
}

/** Number of automations that one query reads. */
const CHUNK = 200;

/**
 * Subscribes to people leaving. Automations that run with their rights are switched off. If a person leaves an Org and
 * a successor was named, the successor takes over the automations in those workspaces that they may edit.
 */
export function watchLeavers(parts: FollowParts, bus: EventBus): Promise<Subscription> {
  return watchDepartures(
    bus,
    'automations.leavers',
    { ...parts, auth: parts.peers.auth },
    {
      leaveWorkspace: (userId, workspaceId) => changeAll(parts, { workspaceId }, userId, undefined),
      leaveOrg: (userId, orgId, successor) => changeAll(parts, { tenant: orgId }, userId, successor),
    },
  );
}

/**
 * Follows automations that are created or changed by people who left at the same moment: `watchLeavers` may have looked
 * before they were there. They are switched off, or taken over, like the others.
 */
export function watchLateAutomations(parts: FollowParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'automations.late-automations', events: ['automations.automation.updated'] } as const;
  return consume(bus, spec, async ({ subject }) => {
    const automation = await parts.automations.get(subject);
    if (automation === undefined) return;
    const { tenant, workspaceId } = automation;
    const people = peopleOf(automation);
    const fromOrg = await parts.departures.from(tenant, people);
    const fromWorkspace = await parts.departures.from(workspaceId, people);
    for (const userId of people) {
      if (!fromOrg.has(userId) && !fromWorkspace.has(userId)) continue;
      const person = await parts.memberships.fresh(userId, parts.systemCall());
      if (person.workspaces.has(workspaceId)) continue;
      const successorId = person.orgs.has(tenant) ? '' : (fromOrg.get(userId)?.successorId ?? '');
      const successor = await findSuccessor({ ...parts, auth: parts.peers.auth }, tenant, successorId);
      await handOverOne(parts, automation, userId, successor);
    }
  });
}

async function changeAll(
  parts: FollowParts,
  where: { readonly tenant: string } | { readonly workspaceId: string },
  userId: string,
  successor: Successor | undefined,
): Promise<void> {
  for await (const one of findEach(parts.automations, { where }, CHUNK)) {
    if (concerns(one, userId)) await handOverOne(parts, one, userId, successor);
  }
}

/** Returns the people whose leaving changes an automation. */
const peopleOf = ({ definition, creatorId }: AutomationRecord): string[] => [
  ...new Set([definition.actsAs.userId, creatorId]),
];

const concerns = (automation: AutomationRecord, userId: string): boolean => peopleOf(automation).includes(userId);

async function handOverOne(
  parts: FollowParts,
  { id }: AutomationRecord,
  userId: string,
  successor: Successor | undefined,
): Promise<void> {
  await inWork(parts.store, async (work) => {
    const automation = await work.get(parts.automations, id);
    if (automation === undefined || !concerns(automation, userId)) return;
    await handOver(parts, work, automation, userId, successor);
  });
}

/**
 * Switches off an automation that runs with the rights of a person who has left. A successor becomes the person whose
 * rights it runs with, and can switch it on again; anyone else who does lends it their own rights.
 */
async function handOver(
  parts: FollowParts,
  work: UnitOfWork,
  automation: AutomationRecord,
  userId: string,
  named: Successor | undefined,
): Promise<void> {
  const { definition, definitionVersion, creatorId, workspaceId } = automation;
  const place = named?.workspaces.get(workspaceId);
  const successor = place !== undefined && mayEdit(place) ? named : undefined;
  const actsForThem = definition.actsAs.userId === userId;
  if (successor === undefined && !(actsForThem && automation.isActive)) return;
  const changed = {
    ...{ ...automation, isActive: automation.isActive && !actsForThem },
    updatedAt: new Date(parts.now()).toISOString(),
    ...(successor && creatorId === userId && ownedBy(successor)),
  };
  if (successor === undefined || !actsForThem) {
    work.replace(parts.automations, automation, changed);
    return;
  }
  const actsAs = handedOverTo(definition.actsAs, successor);
  const next = { definition: { ...definition, actsAs }, definitionVersion: definitionVersion + 1 };
  await retireDefinition(parts, automation, work);
  writeDefinition(parts, work.replace(parts.automations, automation, { ...changed, ...next }), work);
}

const ownedBy = ({ id, name }: Successor): Pick<AutomationRecord, 'creatorId' | 'createdBy'> => ({
  creatorId: id,
  createdBy: { type: 'user', id, name },
});
