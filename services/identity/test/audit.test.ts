import type { DomainEvent } from '@commonplace/kit/events';
import { eventually } from '@commonplace/kit/testing';
import { CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import { afterEach, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support/harness.js';
import { makeKey, type Person, signUp } from './support/people.js';

let harness: Harness;
afterEach(() => harness.close());

async function open(): Promise<{ ada: Person; seen: DomainEvent[] }> {
  harness = await openHarness({ COMMONPLACE_SIGN_UP: 'open' });
  const seen: DomainEvent[] = [];
  const types = ['session.>', 'sign_in.failed', 'api_key.used', 'api_key.refused'].map(
    (type) => `commonplace.identity.${type}`,
  );
  await harness.bus.subscribe({ consumer: 'test', types }, async (events) => void seen.push(...events));
  const ada = await signUp(harness, 'Ada');
  return { ada, seen };
}

const of = (seen: DomainEvent[], type: string) => seen.filter((event) => event.type === `commonplace.identity.${type}`);
const tryOf = (password: string, email = 'ada@example.com', clientIp = '203.0.113.7') =>
  harness.auth.signIn({ email, password, clientIp, userAgent: '', code: '' }, harness.call());

test('a sign-in event contains the person, the method and the network', async () => {
  const { ada, seen } = await open();
  const { session } = await tryOf('long enough');
  await harness.auth.signOut({ session }, harness.call());
  await eventually(() => expect(of(seen, 'session.ended')).toHaveLength(1));
  const [, started] = of(seen, 'session.started');
  expect(started).toMatchObject({
    data: { userId: ada.id, userName: 'Ada', method: 'password' },
    actor: { type: 'user', id: ada.id },
    network: '203.0.113.0/24',
  });
  expect(of(seen, 'session.ended')[0]?.data).toEqual({
    credentialId: started?.data.credentialId,
    userId: ada.id,
    userName: 'Ada',
  });
  expect(JSON.stringify(seen)).not.toContain(session);
});

test('failed sign-ins of a person are published once at first, then once for all of the next minute', async () => {
  const { ada, seen } = await open();
  for (let i = 0; i < 6; i++)
    await expect(tryOf(`wrong ${i}`)).rejects.toMatchObject({ reason: 'invalid_credentials' });
  await expect(tryOf('wrong', 'nobody@example.com')).rejects.toMatchObject({ reason: 'invalid_credentials' });
  await eventually(() => expect(of(seen, 'sign_in.failed')).toHaveLength(1));
  await harness.settle();
  await eventually(() => expect(of(seen, 'sign_in.failed')).toHaveLength(2));
  const about = { userId: ada.id, userName: 'Ada', reason: 'invalid_credentials' };
  expect(of(seen, 'sign_in.failed').map(({ data }) => data)).toEqual([
    { ...about, count: 1 },
    { ...about, count: 5 },
  ]);
  expect(JSON.stringify(seen)).not.toContain('wrong');
});

test('uses of a key are published once per network and hour', async () => {
  const { ada, seen } = await open();
  const { id, key } = await makeKey(harness, ada.session);
  const use = (clientIp: string) => harness.authenticate(key, { kind: CredentialKind.BEARER, clientIp });
  for (let i = 0; i < 5; i++) await use(`203.0.113.${i}`);
  await use('198.51.100.1');
  harness.pass(3_600_000);
  await use('203.0.113.1');
  await eventually(() => expect(of(seen, 'api_key.used')).toHaveLength(3));
  expect(of(seen, 'api_key.used').map(({ network }) => network)).toEqual([
    '203.0.113.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
  ]);
  expect(of(seen, 'api_key.used')[0]).toMatchObject({
    data: { keyId: id, userId: ada.id },
    tenant: expect.any(String),
  });
  expect(JSON.stringify(seen)).not.toContain(key);
});

test('a refused key is published if its secret was right, and not if it was guessed', async () => {
  const { ada, seen } = await open();
  const { id, key } = await makeKey(harness, ada.session);
  const { token } = await harness.authenticate(ada.session);
  await harness.apiKeys.deleteApiKey({ keyId: id }, harness.call(token));
  await expect(harness.authenticate(key)).rejects.toMatchObject({ reason: 'revoked_key' });
  const other = `${key.slice(0, 24)}${key.slice(24).split('').reverse().join('')}`;
  await expect(harness.authenticate(other)).rejects.toMatchObject({ reason: 'invalid_credentials' });
  await eventually(() => expect(of(seen, 'api_key.refused')).toHaveLength(1));
  expect(of(seen, 'api_key.refused')[0]?.data).toMatchObject({ keyId: id, reason: 'revoked_key', count: 1 });
});
