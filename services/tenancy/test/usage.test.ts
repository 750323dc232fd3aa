import type { Collection } from '@commonplace/kit/store';
import { expect, test } from '@jest/globals';
import type { UsageRecord } from '../src/credits/records.js';
import { sumUsage } from '../src/credits/views/usage.js';

test('the hours of 400 days are summed without keeping the event loop from others', async () => {
  const usage = { find: async () => [] } as unknown as Collection<UsageRecord>;
  const period = { start: '2025-11-01T00:00:00.000Z', end: '2026-12-06T00:00:00.000Z' };
  const all = { groupBy: undefined, userId: undefined, workspaceIds: undefined };
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const { series } = await sumUsage(usage, { tenant: 't', period, granularity: 'hour', ...all });
  clearImmediate(timer);
  expect(series).toHaveLength(400 * 24);
  expect(series.at(-1)?.start).toBe('2026-12-05T23:00:00.000Z');
  expect(turns).toBeGreaterThan(3);
});
