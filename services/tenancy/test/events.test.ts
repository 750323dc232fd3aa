import { eventually } from '@commonplace/kit/testing';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World, withKey } from './world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const findEvents = (type: string, userId: string) =>
  eventually(() => {
    const found = world.events.filter((event) => event.type.endsWith(type) && event.data.userId === userId);
    expect(found).not.toEqual([]);
    return found;
  });

test('an event caused by a key names its person, the new member and the inviter', async () => {
  const owner = world.person('Olga');
  const { id } = await world.createWorkspace(owner);
  const person = world.person('Paul');
  const key = withKey(owner, null);
  await world.put(key, id, person, WorkspaceRole.VIEWER);
  const [added] = await findEvents('workspace_member.added', person.userId);
  expect(added?.actor).toEqual({ type: 'api_key', id: key.credential.id, name: 'A key', person: owner.userId });
  expect(added?.data).toMatchObject({ addedByUserId: owner.userId });
});

test('the actor of an accepted invitation is the person who accepts it', async () => {
  const owner = world.person('Olga');
  const { id: orgId } = await world.createOrg(owner);
  const { caller } = await world.join(owner, orgId, OrgRole.MEMBER, 'Paula');
  const [joined] = await findEvents('org_member.updated', caller.userId);
  expect(joined?.actor).toEqual({ type: 'user', id: caller.userId, name: 'Paula' });
  expect(joined?.data).toMatchObject({ joined: true, addedByUserId: owner.userId, status: 'active' });
});
