import { contracts } from '@commonplace/platform/contracts';
import { AssigneeType } from '@commonplace/proto/automations/v1/work_item.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { automationCollection } from '../src/definitions/records.js';
import { scheduleCollection } from '../src/schedules/records.js';
import { newPlace, openWorkItemStage, type WorkItemStage } from './work-items-stage.js';

let stage: WorkItemStage;
beforeAll(async () => {
  stage = await openWorkItemStage();
});
afterAll(() => stage.close());

test('names are told of what the caller can see, in one answer', async () => {
  const place = newPlace();
  const { workspaceId, orgId } = place;
  const [editor, guest, stranger] = [stage.person('Editor'), stage.person('Guest'), stage.person('Stranger')];
  stage.join(editor, place);
  stage.join(guest, place, WorkspaceRole.GUEST);
  const shared = { type: AssigneeType.USER, id: guest.userId };
  const assigned = await stage.create(editor, { workspaceId, title: 'Assigned', assignee: shared });
  const other = await stage.create(editor, { workspaceId, title: 'Other' });
  const agent = stage.agent(place, false);
  const work = stage.store.begin();
  const common = { tenant: orgId, orgId, workspaceId };
  const schedules = await stage.store.collection(scheduleCollection);
  work.insert(await stage.store.collection(automationCollection), { id: 'a', name: 'Digest', ...common } as never);
  for (const [id, agentId, createdById] of [
    ['s1', undefined, 'somebody'],
    ['s2', agent.id, 'somebody'],
    ['s3', 'unknown', 'somebody'],
    ['s4', 'unknown', editor.userId],
  ]) {
    work.insert(schedules, { id, name: `Schedule ${id}`, agentId, createdById, ...common } as never);
  }
  await work.commit();
  const client = stage.stage.host.client(contracts.workDirectory);
  const request = {
    workItemIds: [assigned.id, other.id, 'none'],
    automationIds: ['a', 'none'],
    scheduleIds: ['s1', 's2', 's3', 's4', 'none'],
  };
  const told = async (caller: typeof editor) => {
    const { workItems, automations, schedules: found } = await client.lookUpWork(request, await stage.as(caller));
    return [workItems, automations, found].map((entries) => entries.map(({ name }) => name).sort());
  };
  expect(await told(editor)).toEqual([
    ['Assigned', 'Other'],
    ['Digest'],
    ['Schedule s1', 'Schedule s2', 'Schedule s4'],
  ]);
  expect(await told(guest)).toEqual([['Assigned'], [], []]);
  expect(await told(stranger)).toEqual([[], [], []]);
  const limited = { ...editor, credential: { ...editor.credential, workspaceIds: [newPlace().workspaceId] } };
  expect(await told(limited)).toEqual([[], [], []]);
  await stage.remove(editor, other.id);
  expect((await told(editor))[0]).toEqual(['Assigned']);
});

test('automations are told of with their workspace to those who can read it', async () => {
  const place = newPlace();
  const [viewer, guest, late] = [stage.person('Viewer'), stage.person('Guest'), stage.person('Late')];
  stage.join(viewer, place, WorkspaceRole.VIEWER);
  stage.join(guest, place, WorkspaceRole.GUEST);
  const work = stage.store.begin();
  const fields = { id: 'b', name: 'Digest', tenant: place.orgId, ...place };
  work.insert(await stage.store.collection(automationCollection), fields as never);
  await work.commit();
  const client = stage.stage.host.client(contracts.workDirectory);
  const told = async (caller: typeof viewer) =>
    (await client.checkAccess({ automationIds: ['b', 'none'] }, await stage.stage.as(caller))).automations;
  const digest = [{ id: 'b', name: 'Digest', workspaceId: place.workspaceId }];
  expect(await told(viewer)).toEqual(digest);
  expect(await told(guest)).toEqual([]);
  expect(await told(late)).toEqual([]);
  // Cached memberships are read again before something is hidden.
  stage.join(late, place, WorkspaceRole.VIEWER);
  expect(await told(late)).toEqual(digest);
  const limited = { ...viewer, credential: { ...viewer.credential, workspaceIds: [newPlace().workspaceId] } };
  expect(await told(limited)).toEqual([]);
});
