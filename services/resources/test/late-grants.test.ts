import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedOrg, PlayedWorkspace } from './tenancy.js';

const { EDITOR, MANAGER } = ResourceRole;

let s: SharingStage;
let org: PlayedOrg;
let workspace: PlayedWorkspace;
let owner: Caller;
let leaver: Caller;
let successor: Caller;

beforeAll(async () => {
  s = await openSharingStage();
});
afterAll(() => s.stage.close());

beforeEach(() => {
  org = s.tenancy.org();
  workspace = s.tenancy.workspace(org);
  owner = member(WorkspaceRole.OWNER);
  leaver = member(WorkspaceRole.EDITOR);
  successor = member(WorkspaceRole.EDITOR);
});

function member(role: WorkspaceRole): Caller {
  const person = s.tenancy.person(`P${newId().slice(-6)}`);
  org.roles.set(person.userId, OrgRole.MEMBER);
  workspace.roles.set(person.userId, role);
  return person;
}

function isIn(present: boolean): Promise<void> {
  if (present) org.roles.set(leaver.userId, OrgRole.MEMBER);
  else org.roles.delete(leaver.userId);
  if (present) workspace.roles.set(leaver.userId, WorkspaceRole.EDITOR);
  else workspace.roles.delete(leaver.userId);
  return s.tell('workspace.updated');
}

const restricted = (by: Caller) => s.create(by, { workspaceId: workspace.id, accessMode: AccessMode.RESTRICTED });
const toLeaver = (role: ResourceRole) => ({ principalId: leaver.userId, role });

/** Announces that the leaver was removed from the Org, `ago` milliseconds ago. */
async function announceRemoval(ago = 0): Promise<void> {
  const data = { orgId: org.id, userId: leaver.userId, transferToUserId: successor.userId };
  await publish('tenancy.org_member.removed', data, ago);
}

async function publish(type: string, data: object, ago = 0, subject = newId()): Promise<void> {
  const time = new Date(Date.now() - ago).toISOString();
  const event = { id: newId(), type: `commonplace.${type}`, subject, tenant: org.id, time, data };
  await s.stage.host.bus.publish([event as never]);
}

/** Returns the ids of the people who have grants on an item. */
async function grantees(id: string): Promise<(string | undefined)[]> {
  const { items } = await s.view(owner, id, { includeInherited: false });
  return items.map(({ principal }) => principal?.id).sort();
}

test('a grant that is written while a person is removed from the Org ends with the others', async () => {
  const { id } = await restricted(owner);
  await s.grant(owner, id, toLeaver(EDITOR));
  await isIn(false);
  await announceRemoval(60_000);
  await eventually(async () => expect(await grantees(id)).toEqual([owner.userId]));
});

test('a grant that is written after the grants of a removed person were looked up ends, too', async () => {
  const [before, { id }, kept] = [await restricted(owner), await restricted(owner), await restricted(leaver)];
  await s.grant(owner, before.id, toLeaver(EDITOR));
  await isIn(false);
  await announceRemoval();
  await eventually(async () => expect(await grantees(before.id)).toEqual([owner.userId]));
  await eventually(async () => expect(await grantees(kept.id)).toEqual([successor.userId]));

  // These have read the membership before it ended.
  await isIn(true);
  await s.grant(owner, id, toLeaver(EDITOR));
  const late = await restricted(leaver);
  await isIn(false);
  for (const one of [id, late.id]) {
    const data = { resourceId: one, workspaceId: workspace.id, principal: `user:${leaver.userId}` };
    await publish('resources.permission.granted', data);
  }
  await eventually(async () => expect(await grantees(id)).toEqual([owner.userId]));
  await eventually(async () => expect(await grantees(late.id)).toEqual([successor.userId]));
});

test.each([
  ['agent', GranteeType.AGENT, 'agents.agent.deleted'],
  ['group', GranteeType.GROUP, 'tenancy.group.deleted'],
] as const)(
  'a grant to an %s that is written after the grants of the deleted one were looked up ends',
  async (kind, principalType, type) => {
    const principalId = kind === 'agent' ? newId() : s.tenancy.group(org).id;
    const toDeleted = { principalType, principalId, role: EDITOR };
    const [before, late] = [await restricted(owner), await restricted(owner)];
    await s.grant(owner, before.id, toDeleted);
    await publish(type, { orgId: org.id, [`${kind}Id`]: principalId }, 0, principalId);
    await eventually(async () => expect(await grantees(before.id)).toEqual([owner.userId]));

    // This has read the agent or the group before it was deleted.
    await s.grant(owner, late.id, toDeleted);
    const data = { resourceId: late.id, workspaceId: workspace.id, principal: `${kind}:${principalId}` };
    await publish('resources.permission.granted', data);
    await eventually(async () => expect(await grantees(late.id)).toEqual([owner.userId]));
  },
);

test('who leaves the workspace alone keeps no item that they restrict at the same moment, but what they are given later', async () => {
  const leave = async () => {
    workspace.roles.delete(leaver.userId);
    await s.tell('workspace.updated');
  };
  const before = await restricted(owner);
  await s.grant(owner, before.id, toLeaver(EDITOR));
  const between = await restricted(leaver);
  await leave();
  const data = { workspaceId: workspace.id, userId: leaver.userId, memberId: newId() };
  await publish('tenancy.workspace_member.removed', data, 60_000);
  await eventually(async () => expect(await grantees(between.id)).toEqual([]));
  await publish('tenancy.workspace_member.removed', data);
  await eventually(async () => expect(await grantees(before.id)).toEqual([owner.userId]));

  // This has read the membership before it ended.
  workspace.roles.set(leaver.userId, WorkspaceRole.EDITOR);
  await s.tell('workspace.updated');
  const late = await restricted(leaver);
  await leave();
  const { id: given } = await restricted(owner);
  await s.grant(owner, given, toLeaver(EDITOR));
  for (const resourceId of [given, late.id]) {
    const granted = { resourceId, workspaceId: workspace.id, principal: `user:${leaver.userId}` };
    await publish('resources.permission.granted', granted);
  }
  await eventually(async () => expect(await grantees(late.id)).toEqual([]));
  expect(await grantees(given)).toEqual([owner.userId, leaver.userId].sort());
});

test('a person who has returned keeps what they are given, however late the events arrive', async () => {
  const { id } = await restricted(owner);
  await isIn(false);
  await announceRemoval();
  await isIn(true);
  await s.grant(owner, id, toLeaver(MANAGER));
  await announceRemoval(60_000);
  const data = { resourceId: id, workspaceId: workspace.id, principal: `user:${leaver.userId}` };
  await publish('resources.permission.granted', data);
  const { id: other } = await restricted(owner);
  await s.grant(owner, other, toLeaver(EDITOR));
  await publish('resources.permission.granted', { ...data, resourceId: other });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([await grantees(id), await grantees(other)]).toEqual(
    [id, other].map(() => [owner.userId, leaver.userId].sort()),
  );
});
