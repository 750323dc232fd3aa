import type { Collection } from '@commonplace/kit/store';
import { countTurns, openTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import type { UsageRecord } from '../src/credits/records.js';
import { sumUsage } from '../src/credits/views/usage.js';

test('the hours of 400 days are summed without keeping the event loop from others', async () => {
  const usage = { find: async () => [] } as unknown as Collection<UsageRecord>;
  const period = { start: '2025-11-01T00:00:00.000Z', end: '2026-12-06T00:00:00.000Z' };
  const all = { groupBy: undefined, userId: undefined, workspaceIds: undefined };
  const turns = await countTurns(async () => {
    const { series } = await sumUsage(usage, { tenant: 't', period, granularity: 'hour', ...all });
    expect(series).toHaveLength(400 * 24);
    expect(series.at(-1)?.start).toBe('2026-12-05T23:00:00.000Z');
  });
  expect(turns).toBeGreaterThan(3);
});

test('the groups of one interval are sorted and listed without keeping the event loop from others', async () => {
  const at = '2026-11-30T00:00:00.000Z';
  const counts = { inputTokens: 1, outputTokens: 1, requests: 1 };
  const records = Array.from({ length: 20_000 }, (_, i) => ({
    at,
    userId: `u${i}`,
    credits: (i * 7919) % 20_000,
    ...counts,
  }));
  const turns = openTurns();
  let read = 0;
  const usage = {
    find: async () => {
      read = turns.now();
      return records.splice(0, 250);
    },
  } as unknown as Collection<UsageRecord>;
  const period = { start: at, end: '2026-12-01T00:00:00.000Z' };
  const byMember = { groupBy: 'userId', userId: undefined, workspaceIds: undefined } as const;
  const { groups, series } = await sumUsage(usage, { tenant: 't', period, granularity: 'day', ...byMember });
  expect(turns.now() - read).toBeGreaterThan(3);
  turns.end();
  expect(series[0]?.groups).toEqual(groups);
  expect(groups).toHaveLength(20_000);
  expect(groups.slice(0, 2).map(({ credits }) => credits)).toEqual(['0.019999', '0.019998']);
});
