import { EventEmitter } from 'node:events';
import { AppError } from '@commonplace/kit/errors';
import { countedNetwork } from '@commonplace/kit/network';
import { describe, expect, test } from '@jest/globals';
import { createOpenStreams } from '../src/middleware/open-streams.js';
import { createFailureLimit, createRateGate } from '../src/middleware/rate-limit.js';
import { requireScope } from '../src/middleware/scope.js';
import { parseRateLimits } from '../src/rate-limits.js';

const SUBMIT = { limits: ['write', 'form', 'visitor'], scope: 'form:submit' };
const PAGE = { limits: ['form', 'visitor'], scope: 'public' };
const HOOK = { limits: ['hook'], scope: 'public' };
const FEW = parseRateLimits('form=4,visitor=3,hook=2');

interface TestRequest {
  readonly type?: 'submission' | 'api_key';
  readonly id?: string;
  readonly token?: string;
  readonly clientIp?: string;
}

/**
 * Returns a function that makes a request through the gate. It returns `passed`, or the policy that refused the
 * request.
 */
function asker(policies = FEW) {
  const gate = createRateGate(policies);
  return async (
    route: { limits: string[]; scope: string },
    { type, id = 'a', token = 't', clientIp = '::1' }: TestRequest,
  ) => {
    const admitted = type && { credentialId: id, caller: { userId: '', credential: { type, scopes: [] } } };
    const state = { clientIp, clientNetwork: countedNetwork(clientIp), admitted };
    const res = new EventEmitter();
    const ctx = { state, params: { token }, res, set() {} };
    try {
      await gate(route)(ctx as never, async () => {});
      return 'passed';
    } catch (error) {
      return error instanceof AppError ? error.details.policy : error;
    } finally {
      res.emit('close');
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

  test('with a key are not counted that way', async () => {
    const ask = asker();
    for (let i = 0; i < 10; i++) expect(await ask(SUBMIT, { type: 'api_key' })).toBe('passed');
  });
});

describe('addresses of one IPv6 network', () => {
  const addresses = Array.from({ length: 300 }, (_, i) => `2001:db8:0:1::${(i + 1).toString(16)}`);

  test('are one visitor and one reader, also if all arrive at the same moment', async () => {
    const ask = asker(parseRateLimits('form=off,visitor=3,reader=5'));
    const submitted = await Promise.all(addresses.map((clientIp) => ask(PAGE, { clientIp })));
    expect(submitted.filter((outcome) => outcome === 'passed')).toHaveLength(3);
    const searched = await Promise.all(
      addresses.map((clientIp) => ask({ limits: ['reader'], scope: 'public' }, { clientIp })),
    );
    expect(searched.filter((outcome) => outcome === 'passed')).toHaveLength(5);
    expect(await ask(PAGE, { clientIp: '2001:db8:0:2::1' })).toBe('passed');
  });

  test('share their failed authentications', async () => {
    const failures = createFailureLimit(parseRateLimits('auth=20'));
    const sent: Record<string, string> = {};
    const set = (name: string, value: string) => Object.assign(sent, { [name]: value });
    const contexts = addresses.map((address) => ({ state: { clientNetwork: countedNetwork(address) }, set }));
    const outcomes = await Promise.allSettled(contexts.map((ctx) => failures.count(ctx as never)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    expect(outcomes.at(-1)).toMatchObject({ reason: { message: 'More than 20 failed authentications in 60 s.' } });
    expect(sent).toEqual({
      'RateLimit-Policy': '"auth";q=20;w=60',
      RateLimit: expect.stringMatching(/^"auth";r=0;t=\d+$/),
    });
  });
});

describe('event streams', () => {
  const by = (credentialId: string, orgId: string | null, userId = 'ada') =>
    ({ credentialId, caller: { userId, tenant: { orgId } } }) as never;
  const refusal = (open: () => unknown) => {
    try {
      open();
      return 'open';
    } catch (error) {
      return error instanceof AppError ? `${error.reason} ${error.details.policy}` : error;
    }
  };

  test('are limited to 20 per credential and 500 per tenant, unless the operator configures other limits', () => {
    expect(parseRateLimits('')).toMatchObject({ streams: 20, tenant_streams: 500 });
    expect(parseRateLimits('streams=2,tenant_streams=off')).toMatchObject({ streams: 2, tenant_streams: undefined });
  });

  test('are refused beyond that until one is closed, which counts once', () => {
    const streams = createOpenStreams(parseRateLimits('streams=2,tenant_streams=3'));
    const close = streams.open(by('a', 'org'));
    streams.open(by('a', 'org'));
    expect(refusal(() => streams.open(by('a', 'org')))).toBe('concurrency_limited streams');
    streams.open(by('b', 'org'));
    expect(refusal(() => streams.open(by('b', 'org')))).toBe('concurrency_limited tenant_streams');
    expect(refusal(() => streams.open(by('c', 'other')))).toBe('open');
    close();
    close();
    expect(refusal(() => streams.open(by('b', 'org')))).toBe('open');
    expect(refusal(() => streams.open(by('d', 'org')))).toBe('concurrency_limited tenant_streams');
  });

  test('of a person who acts in no Org are counted for the person, over all their sessions', () => {
    const streams = createOpenStreams(parseRateLimits('tenant_streams=2'));
    streams.open(by('a', null));
    streams.open(by('b', null));
    expect(refusal(() => streams.open(by('c', null)))).toBe('concurrency_limited tenant_streams');
    expect(refusal(() => streams.open(by('d', null, 'bob')))).toBe('open');
  });
});

test('deliveries to a webhook are counted by its token', async () => {
  const ask = asker();
  expect(await ask(HOOK, { clientIp: '192.0.2.1' })).toBe('passed');
  expect(await ask(HOOK, { clientIp: '192.0.2.2' })).toBe('passed');
  expect(await ask(HOOK, { clientIp: '192.0.2.3' })).toBe('hook');
  expect(await ask(HOOK, { token: 'other' })).toBe('passed');
});

test('a credential without a person does not open endpoints that need no scope', () => {
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

test('policies that depend on the content of a request count in addition to those of its route', async () => {
  const gate = createRateGate(parseRateLimits('ai=2'));
  const admitted = { credentialId: 'a', caller: { userId: '', credential: { type: 'session', scopes: [] } } };
  const ask = async (...policies: string[]) => {
    const state: { countBy?: (names: readonly string[]) => Promise<void> } = {};
    const ctx = {
      state: Object.assign(state, { clientIp: '::1', clientNetwork: '::', admitted }),
      params: {},
      res: new EventEmitter(),
      set() {},
    };
    try {
      await gate({ limits: ['write'], scope: 'chat_session:write' })(ctx as never, async () =>
        state.countBy?.(policies),
      );
      return 'passed';
    } catch (error) {
      return error instanceof AppError ? error.details.policy : error;
    }
  };
  const outcomes = [await ask(), await ask('ai'), await ask('ai'), await ask('ai'), await ask()];
  expect(outcomes).toEqual(['passed', 'passed', 'passed', 'ai', 'passed']);
});
