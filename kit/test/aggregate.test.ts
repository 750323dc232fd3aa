import { describe, expect, test } from '@jest/globals';
import { type AggregatorOptions, createAggregator, type Occurrences } from '../src/aggregate/index.js';
import { networkOf } from '../src/network/index.js';

function opened(maxKeys = 10, share?: AggregatorOptions<string>['share']) {
  let clock = 0;
  const reports: Occurrences<string>[] = [];
  const aggregator = createAggregator<string>({
    windowMs: 60_000,
    maxKeys,
    share,
    now: () => clock,
    overflow: () => ({ key: 'rest', occurrence: 'rest' }),
    report: async (occurrences) => void reports.push(occurrences),
  });
  return {
    aggregator,
    reports,
    pass: (ms: number) => {
      clock += ms;
    },
  };
}

describe('an aggregator', () => {
  test('reports the first occurrence of a key at once, and further ones of its window together', async () => {
    const { aggregator, reports, pass } = opened();
    for (let i = 0; i < 1000; i++) aggregator.note('a', `a${i}`);
    aggregator.note('b', 'b0');
    expect(reports).toEqual([
      { latest: 'a0', count: 1 },
      { latest: 'b0', count: 1 },
    ]);
    pass(60_000);
    aggregator.note('a', 'again');
    expect(reports.slice(2)).toEqual([
      { latest: 'a999', count: 999 },
      { latest: 'again', count: 1 },
    ]);
    await aggregator.close();
    expect(reports).toHaveLength(4);
  });

  test('reports what was counted when it closes', async () => {
    const { aggregator, reports } = opened();
    for (const occurrence of ['1', '2', '3']) aggregator.note('a', occurrence);
    await aggregator.close();
    expect(reports).toEqual([
      { latest: '1', count: 1 },
      { latest: '3', count: 2 },
    ]);
  });

  test('counts occurrences beyond the maximum number of keys as one', async () => {
    const { aggregator, reports } = opened(3);
    for (let i = 0; i < 500; i++) aggregator.note(`key ${i}`, `of ${i}`);
    await aggregator.close();
    expect(reports).toEqual([
      { latest: 'of 0', count: 1 },
      { latest: 'of 1', count: 1 },
      { latest: 'of 2', count: 1 },
      { latest: 'rest', count: 1 },
      { latest: 'rest', count: 496 },
    ]);
  });

  test('counts separately what others do when one group has used up its share of the keys', async () => {
    const groupOf = (occurrence: string) => occurrence.charAt(0);
    const { aggregator, reports, pass } = opened(10, { groupOf, maxKeys: 2 });
    for (let i = 0; i < 500; i++) aggregator.note(`a ${i}`, `a${i}`);
    aggregator.note('b', 'b0');
    expect(reports.map(({ latest }) => latest)).toEqual(['a0', 'a1', 'rest', 'b0']);
    pass(60_000);
    aggregator.note('a 0', 'a again');
    expect(reports.at(-1)).toEqual({ latest: 'a again', count: 1 });
    await aggregator.close();
  });
});

test.each([
  ['203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['', undefined],
  ['elsewhere', undefined],
])('the network of %s is %s', (ip, network) => {
  expect(networkOf(ip)).toBe(network);
});
