import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { definitionId } from '../src/definitions/records.js';
import { eventBy, openTriggerStage, type Person, type TriggerStage } from './trigger-stage.js';

let stage: TriggerStage;
let orgId: string;
let workspaceId: string;
let ada: Person;

beforeAll(async () => {
  stage = await openTriggerStage();
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => {
  [orgId, workspaceId] = [newId(), newId()];
  ada = stage.person('Ada');
  stage.join(ada, workspaceId, orgId);
});

const trigger = { type: 'event', types: ['resource.updated'] } as const;
const automation = (by: Person, id = workspaceId) => stage.automation(id, by, trigger, { orgId });
const present = (id: string) => stage.records.automations.get(id);

const left = (person: Person, more: object = {}) =>
  eventBy(
    undefined,
    'tenancy.org_member.removed',
    { orgId, userId: person.id, transferToUserId: '', ...more },
    { workspaceId: '', tenant: orgId },
  );

test('a person who leaves a workspace leaves no automation running there, and all elsewhere', async () => {
  const elsewhere = newId();
  const bob = stage.person('Bob');
  stage.join(bob, workspaceId, orgId);
  const [mine, others, away] = [await automation(ada), await automation(bob), await automation(ada, elsewhere)];
  stage.leave(ada);
  stage.join(ada, elsewhere, orgId);
  const data = { userId: ada.id, memberId: newId() };
  const event = eventBy(undefined, 'tenancy.workspace_member.removed', data, { workspaceId, tenant: orgId });
  await stage.publish(event);
  await stage.settled('automations.leavers');
  expect(await present(mine.id)).toMatchObject({ isActive: false, version: 2, definitionVersion: 1 });
  expect(await present(others.id)).toEqual(others);
  expect(await present(away.id)).toEqual(away);
});

test('a person who was added again in the meantime loses nothing', async () => {
  const mine = await automation(ada);
  await stage.publish(left(ada));
  await stage.settled('automations.leavers');
  expect(await present(mine.id)).toEqual(mine);
});

test('an automation that is created while its author leaves is switched off, and is not if they are back', async () => {
  const mine = await automation(ada);
  stage.leave(ada);
  const data = { userId: ada.id, memberId: newId() };
  await stage.publish(eventBy(undefined, 'tenancy.workspace_member.removed', data, { workspaceId, tenant: orgId }));
  await stage.settled('automations.leavers');
  expect(await present(mine.id)).toMatchObject({ isActive: false });
  // These have read the membership before it ended, and commit after the automations were looked up.
  const update = ({ id }: { id: string }) => ({
    ...eventBy(ada, 'automations.automation.updated', { workspaceId }, { workspaceId, tenant: orgId }),
    subject: id,
  });
  const late = await automation(ada);
  await stage.publish(update(late));
  await stage.settled('automations.late-automations');
  expect(await present(late.id)).toMatchObject({ isActive: false, creatorId: ada.id });
  stage.join(ada, workspaceId, orgId);
  const later = await automation(ada);
  await stage.publish(update(later));
  await stage.settled('automations.late-automations');
  expect(await present(later.id)).toEqual(later);
});

test('a successor takes over in the workspaces in which they are an editor, and reactivates the automations', async () => {
  const bob = stage.person('Bob');
  const [edited, read] = [newId(), newId()];
  for (const id of [edited, read]) stage.join(ada, id, orgId);
  stage.join(bob, edited, orgId);
  stage.join(bob, read, orgId, WorkspaceRole.VIEWER);
  const [given, off] = [await automation(ada, edited), await automation(ada, read)];
  stage.leave(ada);
  const event = left(ada, { transferToUserId: bob.id });
  await stage.publish(event);
  await stage.settled('automations.leavers');
  const after = await present(given.id);
  expect(after).toMatchObject({ isActive: false, creatorId: bob.id, createdBy: { ...bob, type: 'user' } });
  expect(after?.definition.actsAs).toMatchObject({ userId: bob.id, userName: 'Bob', credentialId: '' });
  const kept = await stage.records.definitions.get(definitionId(given.id, after?.definitionVersion ?? 0));
  expect(kept?.definition).toEqual(after?.definition);
  expect(await present(off.id)).toMatchObject({ isActive: false, creatorId: ada.id, definitionVersion: 1 });
  // A repeated event changes nothing.
  await stage.publish({ ...event, id: `${event.id}-again` });
  await stage.settled('automations.leavers');
  expect(await present(given.id)).toEqual(after);
});

test('purging an Org deletes all of its data, and none of others', async () => {
  const [other, otherWorkspace] = [newId(), newId()];
  stage.join(ada, otherWorkspace, other);
  const gone = await automation(ada);
  const kept = await stage.automation(otherWorkspace, ada, trigger, { orgId: other });
  const update = (id: string, tenant: string) =>
    eventBy(
      ada,
      'resources.resource.updated',
      { resourceIds: [stage.resource(id)], changedFields: [], version: 2 },
      { workspaceId: id, tenant },
    );
  await stage.publish(update(workspaceId, orgId), update(otherWorkspace, other));
  await stage.settled();
  expect(await stage.runsOf(gone)).toHaveLength(1);
  await stage.publish(eventBy(undefined, 'tenancy.org.purged', { orgId }, { workspaceId: '', tenant: orgId }));
  await stage.settled('automations.purges');
  const { automations, runs, lanes, definitions } = stage.records;
  await eventually(async () => {
    for (const records of [automations, runs, lanes, definitions]) {
      expect(await (records as typeof runs).count({ tenant: orgId })).toBe(0);
    }
  }, 20_000);
  expect(await present(kept.id)).toEqual(kept);
  expect(await stage.runsOf(kept)).toHaveLength(1);
});
