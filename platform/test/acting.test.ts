import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@commonplace/kit/errors';
import { createActAs, isAccessLost } from '@commonplace/platform/acting';
import { type ActAsRequest, AuthenticateResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import { expect, test } from '@jest/globals';

const REQUEST: ActAsRequest = {
  ...{ userId: 'u', orgId: 'o', scopes: ['resource:read'], workspaceIds: [], chain: [] },
  ...{ agent: undefined, automation: undefined },
};

function open(issue: (count: number) => Promise<AuthenticateResponse>) {
  let count = 0;
  const auth = { actAs: () => issue(++count) };
  return createActAs({ auth, systemCall: () => ({ metadata: { requestId: 'r' }, deadline: 0 }) });
}

const issue = async (count: number) => AuthenticateResponse.create({ token: `t${count}` });

test('uses a token for a second, so that a disabled account acts no longer', async () => {
  const actAs = open(issue);
  const tokens = async () => [(await actAs(REQUEST, 100)).metadata?.token, (await actAs(REQUEST, 100)).metadata?.token];
  expect(await tokens()).toEqual(['t1', 't1']);
  await sleep(1_050);
  expect(await tokens()).toEqual(['t2', 't2']);
});

test('counts the second from the request, however long the answer takes', async () => {
  const actAs = open(async (count) => {
    await sleep(600);
    return issue(count);
  });
  await actAs(REQUEST, 100);
  await sleep(500);
  expect((await actAs(REQUEST, 100)).metadata?.token).toBe('t2');
});

test('asks for another token as soon as the rights differ', async () => {
  const actAs = open(issue);
  const tokenOf = async (request: ActAsRequest) => (await actAs(request, 100)).metadata?.token;
  expect(await tokenOf(REQUEST)).toBe('t1');
  expect(await tokenOf({ ...REQUEST, scopes: [] })).toBe('t2');
  expect(await tokenOf({ ...REQUEST, workspaceIds: ['w'] })).toBe('t3');
  expect(await tokenOf(REQUEST)).toBe('t1');
});

test('gives each call a deadline of its own and keeps the metadata of the service', async () => {
  const actAs = open(issue);
  const before = Date.now();
  const { metadata, deadline } = await actAs(REQUEST, 5_000);
  expect(metadata).toEqual({ requestId: 'r', token: 't1' });
  expect(deadline).toBeGreaterThanOrEqual(before + 5_000);
  expect(deadline).toBeLessThan(before + 10_000);
});

test('keeps no refusal', async () => {
  const actAs = open(async (count) => {
    if (count === 1) throw new AppError('PERMISSION_DENIED', 'account_disabled', 'The account is disabled.');
    return issue(count);
  });
  const refused = await actAs(REQUEST, 100).catch((error: unknown) => error);
  expect(isAccessLost(refused)).toBe(true);
  expect((await actAs(REQUEST, 100)).metadata?.token).toBe('t2');
});

test.each(['PERMISSION_DENIED', 'NOT_FOUND'] as const)('%s means that access is lost', (code) => {
  expect(isAccessLost(new AppError(code, 'some_code', 'Some text.'))).toBe(true);
});

test.each([
  new AppError('UNAVAILABLE', 'some_code', 'Some text.'),
  // Nothing answers so but what has received an expired token.
  new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The caller token is not valid.'),
  new Error('reset'),
  undefined,
])('%s is worth another attempt', (error) => expect(isAccessLost(error)).toBe(false));
