import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, inWork, type UnitOfWork } from '@commonplace/kit/store';
import { consume, MEMBER_LEFT, type TypedEvent } from '@commonplace/platform/events';
import type { AutomationRecord, DefinitionRecord } from '../definitions/records.js';
import { retireDefinition, writeDefinition } from '../definitions/versions.js';
import type { Shared } from '../parts.js';
import { mayEdit } from '../policy.js';
import { type Successor, successorOf } from '../successor.js';

export interface FollowParts
  extends Pick<Shared, 'store' | 'memberships' | 'peers' | 'systemCall' | 'now' | 'settings'> {
  readonly automations: Collection<AutomationRecord>;
  readonly definitions: Collection<DefinitionRecord>;
}

/** Number of automations that one query reads. */
const CHUNK = 200;

/**
 * Subscribes to people leaving. Automations that run with their rights are switched off. If a person leaves an Org and
 * a successor was named, the successor takes over the automations in those workspaces that they may edit.
 */
export function watchLeavers(parts: FollowParts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'automations.leavers', events: MEMBER_LEFT }, (event) => follow(parts, event));
}

/** Handles one event by the current state, so that it may arrive late or twice. */
async function follow(parts: FollowParts, event: TypedEvent<(typeof MEMBER_LEFT)[number]>): Promise<void> {
  const { userId } = event.data;
  if (userId === '') return;
  const person = await parts.memberships.fresh(userId, parts.systemCall());
  if (event.name === 'tenancy.workspace_member.removed') {
    const { workspaceId } = event.data;
    if (person.workspaces.has(workspaceId)) return;
    await changeAll(parts, { workspaceId }, userId, undefined);
    return;
  }
  const { orgId, transferToUserId } = event.data;
  if (person.orgs.has(orgId)) return;
  await changeAll(parts, { tenant: orgId }, userId, await successorOf(parts, orgId, transferToUserId));
}

async function changeAll(
  parts: FollowParts,
  where: { readonly tenant: string } | { readonly workspaceId: string },
  userId: string,
  successor: Successor | undefined,
): Promise<void> {
  for (let after: string[] | undefined; ; ) {
    const found = await parts.automations.find({ where, limit: CHUNK, ...(after && { after }) });
    for (const one of found) {
      if (!concerns(one, userId)) continue;
      await inWork(parts.store, async (work) => {
        const automation = await work.get(parts.automations, one.id);
        if (automation === undefined || !concerns(automation, userId)) return;
        await handOver(parts, work, automation, userId, successor);
      });
    }
    const last = found.at(-1);
    if (last === undefined || found.length < CHUNK) return;
    after = [last.id];
  }
}

const concerns = ({ definition, creatorId }: AutomationRecord, userId: string): boolean =>
  definition.actsAs.userId === userId || creatorId === userId;

/**
 * Switches off an automation that runs with the rights of a person who has left. A successor becomes the person whose
 * rights it runs with, and can switch it on again.
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
  const actsAs = { ...definition.actsAs, userId: successor.id, userName: successor.name, credentialId: '' };
  const next = { definition: { ...definition, actsAs }, definitionVersion: definitionVersion + 1 };
  await retireDefinition(parts, automation, work);
  writeDefinition(parts, work.replace(parts.automations, automation, { ...changed, ...next }), work);
}

const ownedBy = ({ id, name }: Successor): Pick<AutomationRecord, 'creatorId' | 'createdBy'> => ({
  creatorId: id,
  createdBy: { type: 'user', id, name },
});
