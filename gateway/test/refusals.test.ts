import { AppError, invalidField, invalidFields } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';
import { expect, test } from '@jest/globals';
import type { ParameterizedContext } from 'koa';
import { createRefusals } from '../src/middleware/refusals.js';
import type { State } from '../src/middleware/state.js';

const from = (clientIp: string, requestId: string) =>
  ({
    method: 'POST',
    _matchedRoute: '/api/v1/search',
    state: { clientIp, requestId },
  }) as unknown as ParameterizedContext<State>;

test('attempts to bypass a control are logged, repeated ones together, without whole addresses', async () => {
  const lines: object[] = [];
  const log = { warn: (name: string, fields: object) => lines.push({ name, ...fields }) } as unknown as Log;
  const refusals = createRefusals(log);
  const limited = new AppError('RESOURCE_EXHAUSTED', 'rate_limited', 'Too many requests.');
  for (let i = 0; i < 50; i++) refusals.note(from('2001:db8:1:2::1', `req_${i}`), limited);
  const inside = { param: 'source_url', code: 'url_not_allowed', message: 'It is not allowed.' };
  const faults = [inside, { param: 'name', code: 'too_long', message: 'It is too long.' }];
  refusals.note(from('192.0.2.9', 'req_url'), invalidFields(faults));
  refusals.note(from('192.0.2.9', 'req_typo'), invalidField('name', 'too_long', 'It is too long.'));
  await refusals.close();
  const search = { name: 'request.refused', method: 'POST', route: '/api/v1/search' };
  expect(lines).toEqual([
    { ...search, reason: 'rate_limited', network: '2001:db8:1::/48', request_id: 'req_0', count: 1 },
    { ...search, reason: 'url_not_allowed', network: '192.0.2.0/24', request_id: 'req_url', count: 1 },
    { ...search, reason: 'rate_limited', network: '2001:db8:1::/48', request_id: 'req_49', count: 49 },
  ]);
});
