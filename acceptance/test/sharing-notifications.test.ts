import { beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { newAddress, type Person, signIn, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

/** Tests that sharing notifies the people whom it concerns. */

interface Notification {
  readonly type: string;
  readonly target: { readonly id: string } | null;
}

let system: System;
let owner: Person;
let other: Person;
let page: Resource;
let org: Org;

beforeAll(async () => {
  system = await standingSystem();
  owner = await signIn(system, system.owner);
  org = (await owner.post<Org>('/orgs', { name: 'Notified' })).data;
  const email = newAddress('notified');
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  other = await signUp(system, 'Other', { email, invitation: tokenOf(data.invite_url) });
  const workspace = (await owner.post<Workspace>('/workspaces', { name: 'Notified', org_id: org.id })).data;
  const made = await owner.post<Resource>('/resources', { type: 'document', name: 'Plan', workspace_id: workspace.id });
  page = made.data;
});
async function notifiedResources(person: Person, type: string): Promise<(Notification | undefined)[]> {
  const { data } = await person.get<List<Notification>>(`/notifications?type=${type}`, {
    headers: { 'x-tenant': org.id },
  });
  return data.items.map(({ target }) => target?.id) as never;
}

test('an access request notifies the owner, and the decision notifies the requester', async () => {
  const asked = await other.post<{ id: string }>(`/resources/${page.id}/access-requests`, { role: 'viewer' });
  expect(asked.status).toBe(201);
  await eventually(async () => expect(await notifiedResources(owner, 'access_requested')).toEqual([page.id]));
  const decided = await owner.patch(`/access-requests/${asked.data.id}`, { status: 'approved' });
  expect(decided.status).toBe(200);
  await eventually(async () => expect(await notifiedResources(other, 'access_decided')).toEqual([page.id]));
  expect((await other.get(`/resources/${page.id}`)).status).toBe(200);
});

test('a share notifies its recipient, and the notification disappears when the share ends', async () => {
  const grant = { principal_type: 'user', principal_id: other.user.id, role: 'editor' };
  const made = await owner.post<Resource>('/resources', {
    type: 'document',
    name: 'Gift',
    workspace_id: page.workspace_id,
  });
  expect((await owner.post(`/resources/${made.data.id}/permissions`, grant)).status).toBe(201);
  await eventually(async () => expect(await notifiedResources(other, 'resource_shared')).toEqual([made.data.id]));
  const { principal_type, principal_id } = grant;
  await owner.del(
    `/resources/${made.data.id}/permissions?principal_type=${principal_type}&principal_id=${principal_id}`,
  );
  await eventually(async () => expect(await notifiedResources(other, 'resource_shared')).toEqual([undefined]));
});
