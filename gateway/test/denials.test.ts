import { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { Denial } from '@commonplace/proto/messaging/v1/audit_event_service.js';
import { expect, test } from '@jest/globals';
import { createDenials } from '../src/middleware/denials.js';

const ROUTE = '/api/v1/resources/{resource_id}';

function opened() {
  const recorded: Denial[] = [];
  const denials = createDenials({
    auditEvents: {
      recordDenials: async ({ denials }: { denials: Denial[] }) => {
        recorded.push(...denials);
        return {};
      },
    } as never,
    call: () => ({}) as never,
    log: { warn: () => {} } as never,
  });
  const error = new AppError('PERMISSION_DENIED', 'insufficient_scope', 'This needs a scope.');
  const deny = (userId: string) => {
    const credential = { type: 'api_key', id: `key of ${userId}`, scopes: [] };
    const caller = { userId, name: userId, credential };
    const state = { admitted: { caller }, clientIp: '203.0.113.7', requestId: 'req_1' };
    const params = { resource_id: newId() };
    denials.note({ state, params, method: 'GET', _matchedRoute: '/api/v1/resources/:resource_id' } as never, error);
  };
  return { denials, recorded, deny };
}

test('what one person is denied does not hide what others are', async () => {
  const { denials, recorded, deny } = opened();
  for (let i = 0; i < 2_000; i++) deny('mallory');
  deny('bob');
  await denials.close();
  const ofMallory = recorded.filter(({ userId }) => userId === 'mallory');
  expect(ofMallory.length).toBeLessThan(60);
  expect(ofMallory.reduce((sum, { count }) => sum + count, 0)).toBe(2_000);
  expect(recorded.filter(({ userId }) => userId === 'bob')).toMatchObject([{ method: 'GET', route: ROUTE, count: 1 }]);
});
