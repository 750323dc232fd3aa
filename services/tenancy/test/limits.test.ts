import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWorld, type World } from './world.js';

let world: World;
beforeAll(async () => {
  process.env.COMMONPLACE_ORG_MEMBERS = '3';
  process.env.COMMONPLACE_PUBLIC_URL = 'https://example.org/';
  world = await openWorld();
});
afterAll(async () => {
  delete process.env.COMMONPLACE_ORG_MEMBERS;
  delete process.env.COMMONPLACE_PUBLIC_URL;
  await world.close();
});

test('an Org has at most as many members as its limit, including open invitations and guests', async () => {
  const owner = world.person();
  const { id: orgId } = await world.createOrg(owner);
  const workspace = await world.createWorkspace(owner, { orgId });
  const first = await world.invite(owner, orgId, { email: 'a@x.org' });
  expect(first.inviteUrl).toMatch(/^https:\/\/example\.org\/auth\/sign-up\?invite=/);
  await world.add(owner, workspace.id, { email: 'b@x.org' });
  const full = { code: 'ABORTED', reason: 'limit_reached', details: { limit: 3 } };
  await expect(world.invite(owner, orgId, { email: 'c@x.org' })).rejects.toMatchObject(full);
  await expect(world.add(owner, workspace.id, { email: 'c@x.org' })).rejects.toMatchObject(full);
  await world.invite(owner, orgId, { email: 'a@x.org' });
  const removal = { orgId, memberId: first.id, transferToMemberId: undefined };
  await world.orgs.removeOrgMember(removal, await world.as(owner));
  await world.invite(owner, orgId, { email: 'c@x.org' });
});

test('an Org stays within its limit when 50 people are invited at once', async () => {
  const owner = world.person();
  const { id: orgId } = await world.createOrg(owner);
  const workspace = await world.createWorkspace(owner, { orgId });
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, at) =>
      at % 2 === 0
        ? world.invite(owner, orgId, { email: `m${at}@x.org` })
        : world.add(owner, workspace.id, { email: `g${at}@x.org` }),
    ),
  );
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.reason] : []));
  expect(refused).toEqual(Array(48).fill('limit_reached'));
});
