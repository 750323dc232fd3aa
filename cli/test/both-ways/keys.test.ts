import { api } from '@commonplace/acceptance/dist/src/client.js';
import { eventually } from '@commonplace/acceptance/dist/src/eventually.js';
import { newAddress, signIn, signUp, tokenOf } from '@commonplace/acceptance/dist/src/people.js';
import { operatedSystem } from '@commonplace/acceptance/dist/src/standing.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from '../commonplace.js';

let system: Awaited<ReturnType<typeof operatedSystem>>;
beforeAll(async () => {
  system = await operatedSystem();
});
afterAll(() => system?.stop());

async function keys(...args: string[]) {
  const { code, stdout, stderr } = await commonplace(['keys', ...args, '--json'], system.places);
  return { code, stderr, answer: JSON.parse(stdout) };
}

test('creates a key for an owner without one while the system runs, and revokes it', async () => {
  const { email } = system.owner;
  const made = await keys(
    'create',
    '--email',
    email,
    '--scopes',
    'resource:read, workspace:read',
    '--expires',
    '2100-01-31',
  );
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.answer).toMatchObject({
    key: expect.stringMatching(/^wsk_p_/),
    person: email,
    status: 'active',
    scopes: ['resource:read', 'workspace:read'],
    expiresAt: '2100-01-31T00:00:00.000Z',
  });
  const by = api(system, made.answer.key);
  expect((await by.get('/workspaces')).status).toBe(200);
  expect((await by.post('/workspaces', { name: 'Not within its scopes' })).status).toBe(403);

  const { answer } = await keys('list', '--email', email.toUpperCase());
  const listed = answer.keys as { id: string; prefix: string; name: string }[];
  expect(listed.map(({ name }) => name).sort()).toEqual(['Bootstrap', 'Made by the operator']);
  expect(JSON.stringify(listed)).not.toContain(made.answer.key);
  expect(JSON.stringify(listed)).not.toContain('secretHash');

  const revoked = await keys('revoke', made.answer.prefix);
  expect(revoked.answer).toMatchObject({ id: made.answer.id, status: 'revoked' });
  await eventually(async () => expect((await by.get('/workspaces')).status).toBe(401));
  expect((await keys('revoke', made.answer.id)).code).toBe(0);
  expect((await keys('list')).answer.keys).toHaveLength(1);
  expect((await keys('list', '--revoked')).answer.keys).toHaveLength(2);
});

test.each([
  ['keys', 'create', '--email', 'owner@localhost'],
  ['account', 'reset-password', 'owner@localhost', '--link'],
])('refuses another secret than the one of the system: commonplace %s %s', async (...args) => {
  const places = { ...system.places, COMMONPLACE_SECRET_KEY: 'f'.repeat(64) };
  const { code, stdout, stderr } = await commonplace(args, places);
  expect([code, stdout, stderr]).toEqual([78, '', expect.stringContaining('is not the key of this database')]);
});

test.each([' \t ', 'a\nb', '\u001b[31mred', 'x'.repeat(256)])('refuses %j as the name of a key', async (name) => {
  const { code, answer } = await keys('create', '--email', system.owner.email, '--name', name);
  expect(code).toBe(name.trim() === '' ? 64 : 1);
  expect(answer.error.message).toMatch(/name (is empty|must have 1 to 255 characters)/);
});

test('creates a key of an Org for its owners and admins, by id or slug, that works only in that Org', async () => {
  const { email } = system.owner;
  const owner = await signIn(system, system.owner);
  const { data: org } = await owner.post<{ id: string; slug: string }>('/orgs', { name: 'Weir watchers' });
  const made = await keys('create', '--email', email, '--org', org.slug, '--scopes', 'org:read,workspace:read');
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.answer).toMatchObject({ key: expect.stringMatching(/^wsk_o_/), type: 'org', orgId: org.id });
  const by = api(system, made.answer.key);
  expect((await by.get(`/orgs/${org.id}`)).status).toBe(200);
  const { data: other } = await owner.post<{ id: string }>('/orgs', { name: 'Others' });
  expect((await by.get(`/orgs/${other.id}`)).status).not.toBe(200);
  const address = newAddress('Member');
  const { data: invited } = await owner.post<{ invite_url: string }>(`/orgs/${org.id}/members`, {
    email: address,
    role: 'member',
  });
  const member = await signUp(system, 'Member', { email: address, invitation: tokenOf(invited.invite_url) });
  for (const [exitCode, ...args] of [
    [1, 'create', '--email', member.user.email, '--org', org.id],
    [66, 'create', '--email', email, '--org', 'no-such-org'],
  ] as const) {
    const { code, answer } = await keys(...args);
    expect([code, answer.error.exit_code]).toEqual([exitCode, exitCode]);
  }
  await keys('revoke', made.answer.id);
});

test('reports unknown people, scopes and keys', async () => {
  const { email } = system.owner;
  for (const [exitCode, ...args] of [
    [66, 'create', '--email', 'nobody@example.com'],
    [1, 'create', '--email', email, '--scopes', 'everything:do'],
    [1, 'create', '--email', email, '--expires', '2001-01-01'],
    [66, 'revoke', 'wsk_p_000000000000'],
    [66, 'list', '--email', 'nobody@example.com'],
  ] as const) {
    const { code, answer } = await keys(...args);
    expect([code, answer.error.exit_code]).toEqual([exitCode, exitCode]);
  }
  const empty = await commonplace(['keys', 'list', '--data-dir', '/nowhere'], {
    COMMONPLACE_SECRET_KEY: '0'.repeat(64),
  });
  expect(empty.code).toBe(66);
});
