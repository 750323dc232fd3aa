import type { Caller } from '@commonplace/kit/auth';
import { NotFound, Unavailable } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import { silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import type { RecordUsageRequest } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { CreditSource, UsageSource } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { expect, test } from '@jest/globals';
import { tokensOf } from '../src/embedding/openai/tokens.js';
import { attributionOf, createUsageRecorder, type UsageRecorder } from '../src/usage/recorder.js';
import { shareTokens } from '../src/vectors/background.js';

function openRecorder(answers: (Error | undefined)[] = []): {
  requests: RecordUsageRequest[];
  recorder: UsageRecorder;
} {
  const requests: RecordUsageRequest[] = [];
  const metering = {
    recordUsage: async (request: RecordUsageRequest) => {
      requests.push(request);
      const error = answers.shift();
      if (error !== undefined) throw error;
      return { credits: '0', overage: '0', charged: true };
    },
  };
  const systemCall = () => ({ metadata: { requestId: 'r' }, deadline: Date.now() + 1000 });
  return { requests, recorder: createUsageRecorder({ metering, systemCall, log: silentLog, flushMs: 5 }) };
}

const use = { tenant: 't', feature: 'search', model: 'm', userId: 'u' } as const;

test('reports tokens with the same attribution together, others separately', async () => {
  const { requests, recorder } = openRecorder();
  recorder.add(use, { tokens: 3, isEstimated: false });
  recorder.add(use, { tokens: 4, isEstimated: false });
  recorder.add({ ...use, feature: 'embedding' }, { tokens: 5, isEstimated: true });
  await recorder.close();
  expect(requests).toEqual([
    expect.objectContaining({ tenant: 't', inputTokens: 7, requests: 2, source: UsageSource.PROVIDER }),
    expect.objectContaining({ inputTokens: 5, requests: 1, source: UsageSource.ESTIMATED }),
  ]);
  expect(requests.map(({ key }) => key?.source)).toEqual([CreditSource.SEARCH, CreditSource.EMBEDDING]);
});

test('retries a failed report under the same key, but not a refused one', async () => {
  const { requests, recorder } = openRecorder([Unavailable(), undefined, NotFound()]);
  recorder.add(use, { tokens: 3, isEstimated: false });
  await eventually(async () => expect(requests).toHaveLength(2));
  expect(requests[1]).toEqual(requests[0]);
  recorder.add(use, { tokens: 1, isEstimated: false });
  await recorder.close();
  expect(requests).toHaveLength(3);
});

test('attributes a search to the tenant and the key of the credential', () => {
  const caller = { userId: 'u', credential: { type: 'session', id: 's', scopes: [] } } as unknown as Caller;
  expect(attributionOf(caller)).toEqual({ tenant: homeOf('u'), userId: 'u' });
  const key = { ...caller, tenant: { orgId: 'o' }, credential: { type: 'api_key', id: 'k', scopes: [] } } as Caller;
  expect(attributionOf(key)).toEqual({ tenant: 'o', userId: 'u', apiKeyId: 'k' });
});

test('uses the token count of the provider, or an estimate without it', () => {
  expect(tokensOf({ usage: { prompt_tokens: 12 } }, ['text'])).toEqual({ tokens: 12, isEstimated: false });
  expect(tokensOf({ usage: { prompt_tokens: -1 } }, ['text', 'äö'])).toEqual({ tokens: 3, isEstimated: true });
  expect(tokensOf(null, [''])).toEqual({ tokens: 0, isEstimated: true });
});

test('divides the tokens of a request among workspaces without a remainder', () => {
  const shares = shareTokens(10, ['aaaa', 'bb', 'c'], ['one', 'two', 'one']);
  expect([...shares]).toEqual([
    ['one', 7],
    ['two', 3],
  ]);
  expect([...shareTokens(7, ['', ''], ['one', 'two'])]).toEqual([
    ['one', 7],
    ['two', 0],
  ]);
});
