import { describe, expect, test } from '@jest/globals';
import { editsBetween } from '../src/domain/edits.js';
import { expand } from '../src/domain/expand.js';
import { type Group, parseQuery, type QueryPlan } from '../src/domain/query.js';

const short = (groups: readonly Group[]): string[] =>
  groups.map(({ terms, prefix }) => terms.join(' ') + (prefix ? '*' : ''));

function summary(query: string): Record<string, readonly string[]> {
  const plan: QueryPlan = parseQuery(query);
  const all = {
    groups: short(plan.groups),
    boosts: short(plan.boosts),
    excluded: short(plan.excluded),
    types: plan.types,
    excludedTypes: plan.excludedTypes,
    tags: plan.tags,
    excludedTags: plan.excludedTags,
  };
  return Object.fromEntries(Object.entries(all).filter(([, values]) => values.length > 0));
}

describe('query language', () => {
  test.each<[string, Record<string, string[]>]>([
    ['Running tests', { groups: ['run', 'test*'] }],
    ['running tests ', { groups: ['run', 'test'] }],
    ['running "tests"', { groups: ['run', 'test'] }],
    ['"code review" now', { groups: ['code review', 'now*'] }],
    ['“code review”', { groups: ['code review'] }],
    ['"open end', { groups: ['open end'] }],
    ['a -draft -"old plan"', { groups: ['a'], excluded: ['draft', 'old plan'] }],
    ['type:document notes', { groups: ['note*'], types: ['document'] }],
    ['Type:Document -type:file x ', { groups: ['x'], types: ['document'], excludedTypes: ['file'] }],
    ['type:memo x ', { groups: ['type memo', 'x'] }],
    ['author:me ', { groups: ['author me'] }],
    ['tag:urgent tag:"to do" -tag:old x ', { groups: ['x'], tags: ['urgent', 'to do'], excludedTags: ['old'] }],
    ['how to deploy', { groups: ['deploy*'] }],
    ['how to ', { groups: ['how', 'to'] }],
    ['foo_bar v1.2', { groups: ['foo bar', 'v1 2*'] }],
    ['wombat,burrow', { groups: ['wombat', 'burrow*'], boosts: ['wombat burrow*'] }],
    ['wombat, burrow;pouch. ', { groups: ['wombat', 'burrow', 'pouch'], boosts: ['burrow pouch'] }],
    ['"wombat,burrow" ', { groups: ['wombat burrow'] }],
    ['-wombat,burrow tag:red,green x ', { groups: ['x'], excluded: ['wombat burrow'], tags: ['red,green'] }],
    ['$1,000,owl 1,2 ', { groups: ['1 000', 'owl', '1 2'], boosts: ['1 000 owl'] }],
    ['手机，电脑、书 ', { groups: ['手机', '电脑', '书*'], boosts: ['手机 机 电脑 脑 书*'] }],
    [',,; ', {}],
    ['c++', { groups: ['c'] }],
    ['c', { groups: ['c*'] }],
    ['vitamin c', { groups: ['vitamin', 'c'] }],
    ['test testing ', { groups: ['test'] }],
    ['数据', { groups: ['数据'] }],
    ['据', { groups: ['据*'] }],
    ['训练数据', { groups: ['训练', '数据'], boosts: ['训练 练数 数据'] }],
    ['東京都', { groups: ['京都'], boosts: ['东京 京都'] }],
    ['"训练数据"', { groups: ['训练 练数 数据'] }],
    ['手机iPhone', { groups: ['手机 机 iphon*'] }],
    ['iPhone手', { groups: ['iphon 手*'] }],
    ['- -- "" !!!', {}],
  ])('%s', (query, expected) => {
    expect(summary(query)).toEqual(expected);
  });

  test('counts a word as often as it occurs in the query', () => {
    const { groups } = parseQuery('libraries of a library and their users ');
    expect(groups.map(({ terms, times }) => [terms.join(' '), times])).toEqual([
      ['librari', 2],
      ['user', 1],
    ]);
  });

  test('looks up the parts of compounds separately, and no particles, in a question of five or more words', () => {
    expect(summary('low-carb diet pros ')).toEqual({ groups: ['low carb', 'diet', 'pros'] });
    expect(summary('does a low-carb diet lower blood pressure ')).toEqual({
      groups: ['low', 'carb', 'diet', 'lower', 'blood', 'pressur'],
    });
    expect(summary('does a "low-carb" diet lower blood pressure ')).toEqual({
      groups: ['low carb', 'diet', 'lower', 'blood', 'pressur'],
    });
    expect(summary('when did U.S. troops pull out of Danish Greenland ')).toEqual({
      groups: ['u', 's', 'troop', 'pull', 'danish', 'greenland'],
    });
    expect(summary('troops pull out ')).toEqual({ groups: ['troop', 'pull', 'out'] });
    expect(summary('who sets up, out, off and under four rules ')).toEqual({
      groups: ['set', 'up', 'out', 'off', 'under', 'four', 'rule'],
    });
    expect(summary('東京都の天気 one two three four ')).toMatchObject({
      groups: expect.arrayContaining(['one', 'four']),
    });
  });

  test('does not treat a single quoted word as a phrase', () => {
    const phrases = (query: string) => parseQuery(query).phrases.map(({ terms }) => terms.join(' '));
    expect(phrases('what is a "virtual" machine')).toEqual([]);
    expect(phrases('what is a "virtual machine"')).toEqual(['virtual machin']);
  });

  test('limits the number of terms', () => {
    const plan = parseQuery(Array.from({ length: 100 }, (_, i) => `w${i}`).join(' '));
    expect(plan.groups.length).toBe(64);
  });
});

describe('edits', () => {
  test.each<[string, string, number, number]>([
    ['same', 'same', 2, 0],
    ['vacation', 'vacatoin', 1, 1],
    ['vacation', 'vaction', 1, 1],
    ['vacation', 'vaccation', 1, 1],
    ['vacation', 'vocation', 1, 1],
    ['kubernetes', 'kubrnets', 2, 2],
    ['kitten', 'sitting', 2, 3],
    ['abcd', 'badc', 2, 2],
    ['short', 'muchlonger', 2, 3],
    ['', 'ab', 2, 2],
  ])('%s and %s', (a, b, limit, expected) => {
    expect(editsBetween(a, b, limit)).toBe(expected);
    expect(editsBetween(b, a, limit)).toBe(expected);
  });
});

describe('expansion', () => {
  const only = (query: string): Group => parseQuery(query).groups[0] as Group;
  const vocabulary = { has: () => false, completions: () => [], corrections: () => ['vacation'] };

  test('corrects only words that no text contains', () => {
    expect(expand(only('vacatoin '), vocabulary).map(({ terms }) => terms.join())).toEqual(['vacatoin', 'vacat']);
    expect(expand(only('vacatoin '), { ...vocabulary, has: () => true }).length).toBe(1);
    expect(expand(only('"vacatoin"'), vocabulary).length).toBe(1);
    expect(expand(only('abcd '), vocabulary).length).toBe(1);
    expect(expand(only('v1234567 '), vocabulary).length).toBe(1);
  });

  test('completes a prefix and then does not correct it', () => {
    const completing = { ...vocabulary, completions: () => ['deploying', 'deployments'] };
    expect(expand(only('deployin'), completing)).toEqual([
      { terms: ['deployin'], prefix: false },
      { terms: ['deployin'], prefix: true },
      { terms: ['deploy'], prefix: false },
    ]);
  });
});
