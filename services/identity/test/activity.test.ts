import { newId } from '@commonplace/kit/id';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support/harness.js';
import { makeKey, signUp } from './support/people.js';

const MINUTE = 60_000;

let harness: Harness;
let acme: string;
let ada: Awaited<ReturnType<typeof signUp>>;

beforeEach(async () => {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open' });
  acme = harness.directory.addOrg('Acme');
  ada = await signUp(harness, 'Ada');
  harness.directory.join(ada.id, acme, OrgRole.ADMIN);
});
afterEach(() => harness.close());

/** Returns how long ago the people were last active in an Org, in minutes. */
async function minutesAgo(orgId: string, ...userIds: string[]): Promise<Record<string, number>> {
  await harness.settle();
  const { people } = await harness.auth.getActivity({ orgId, userIds }, harness.call());
  const since = (at: string | undefined) => Math.round((harness.now() - Date.parse(at ?? '')) / MINUTE);
  return Object.fromEntries(people.map(({ userId, lastActiveAt }) => [userId, since(lastActiveAt)]));
}

test('people are active in the Org that their requests select', async () => {
  const other = harness.directory.addOrg('Other');
  harness.directory.join(ada.id, other);
  const { key } = await makeKey(harness, ada.session, { orgId: acme });
  await harness.settle();
  harness.pass(30 * MINUTE);
  await harness.authenticate(key);
  expect(await minutesAgo(acme, ada.id)).toEqual({ [ada.id]: 0 });
  expect(await minutesAgo(other, ada.id)).toEqual({ [ada.id]: 30 });
  harness.pass(30 * MINUTE);
  await harness.authenticate(ada.session, { tenant: other });
  expect(await minutesAgo(acme, ada.id)).toEqual({ [ada.id]: 30 });
  expect(await minutesAgo(other, ada.id)).toEqual({ [ada.id]: 0 });
});

test('requests that select no tenant count in each Org, and those in the Personal one in none', async () => {
  expect(await minutesAgo(acme, ada.id, newId())).toEqual({});
  await harness.authenticate(ada.session, { tenant: 'personal' });
  expect(await minutesAgo(acme, ada.id)).toEqual({});
  await harness.authenticate(ada.session);
  expect(await minutesAgo(acme, ada.id, newId())).toEqual({ [ada.id]: 0 });
});

test('requests are noted every five minutes', async () => {
  await harness.authenticate(ada.session);
  await harness.settle();
  const noted = async () => (await harness.store.collection({ name: 'activity', indexes: [] })).get(ada.id);
  const first = await noted();
  await harness.authenticate(ada.session);
  await harness.settle();
  expect(await noted()).toEqual(first);
  harness.pass(5 * MINUTE);
  await harness.authenticate(ada.session);
  expect(await minutesAgo(acme, ada.id)).toEqual({ [ada.id]: 0 });
  expect((await noted())?.version).toBe(2);
});

test('at most 1,000 people are looked up at once', async () => {
  const userIds = Array.from({ length: 1001 }, () => newId());
  const refused = harness.auth.getActivity({ orgId: acme, userIds }, harness.call());
  await expect(refused).rejects.toMatchObject({ reason: 'too_many_items', param: 'user_ids' });
});
