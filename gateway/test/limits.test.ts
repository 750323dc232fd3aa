import { AppError } from '@commonplace/kit/errors';
import { describe, expect, test } from '@jest/globals';
import { parseRateLimits } from '../src/middleware/policies.js';
import { createRateGate } from '../src/middleware/rate-limit.js';
import { requireScope } from '../src/middleware/scope.js';

const SUBMIT = { limits: ['write', 'form', 'visitor'], scope: 'form:submit' };
const PAGE = { limits: ['form', 'visitor'], scope: 'public' };
const HOOK = { limits: ['hook'], scope: 'public' };
const FEW = parseRateLimits('form=4,visitor=3,hook=2');

interface Asked {
  readonly type?: 'submission' | 'api_key';
  readonly id?: string;
  readonly token?: string;
  readonly clientIp?: string;
}

/** Makes one request after the other. Gives `passed`, or the policy that refused it. */
function asker(policies = FEW) {
  const gate = createRateGate(policies);
  return async (
    route: { limits: string[]; scope: string },
    { type, id = 'a', token = 't', clientIp = '::1' }: Asked,
  ) => {
    const admitted = type && { credentialId: id, caller: { userId: '', credential: { type, scopes: [] } } };
    const ctx = { state: { clientIp, admitted }, params: { token }, set() {} };
    try {
      await gate(route)(ctx as never, async () => {});
      return 'passed';
    } catch (error) {
      return error instanceof AppError ? error.details.policy : error;
    }
  };
}

describe('submissions of people without an account', () => {
  test('are counted by address, whatever credential they have', async () => {
    const ask = asker();
    const outcomes = [];
    for (let i = 0; i < 4; i++) outcomes.push(await ask(SUBMIT, { type: 'submission', id: `c${i}`, token: `t${i}` }));
    expect(outcomes).toEqual(['passed', 'passed', 'passed', 'visitor']);
    expect(await ask(SUBMIT, { type: 'submission', clientIp: '192.0.2.1' })).toBe('passed');
  });

  test('are counted by form, by page and endpoint together', async () => {
    const ask = asker();
    const outcomes = [];
    for (let i = 0; i < 5; i++) {
      const clientIp = `192.0.2.${i}`;
      outcomes.push(i % 2 ? await ask(PAGE, { clientIp }) : await ask(SUBMIT, { type: 'submission', clientIp }));
    }
    expect(outcomes).toEqual(['passed', 'passed', 'passed', 'passed', 'form']);
    expect(await ask(PAGE, { clientIp: '192.0.2.9', token: 'other' })).toBe('passed');
  });

  test('are none of those by key', async () => {
    const ask = asker();
    for (let i = 0; i < 10; i++) expect(await ask(SUBMIT, { type: 'api_key' })).toBe('passed');
  });
});

test('deliveries to a webhook are counted by its token', async () => {
  const ask = asker();
  expect(await ask(HOOK, { clientIp: '192.0.2.1' })).toBe('passed');
  expect(await ask(HOOK, { clientIp: '192.0.2.2' })).toBe('passed');
  expect(await ask(HOOK, { clientIp: '192.0.2.3' })).toBe('hook');
  expect(await ask(HOOK, { token: 'other' })).toBe('passed');
});

test('what stands for nobody opens nothing that asks for no scope', () => {
  const pass = (scope: string, userId: string) => {
    const ctx = { state: { admitted: { caller: { userId, credential: { scopes: ['form:submit'] } } } } };
    try {
      requireScope({ scope, also: [] } as never)(ctx as never, async () => {});
      return 'passed';
    } catch (error) {
      return (error as AppError).reason;
    }
  };
  expect(pass('none', '')).toBe('insufficient_scope');
  expect(pass('form:submit', '')).toBe('passed');
  expect(pass('resource:read', '')).toBe('insufficient_scope');
  expect(pass('none', 'ada')).toBe('passed');
});
