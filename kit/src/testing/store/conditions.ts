import { expect } from '@jest/globals';
import type { Where } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, type Draft, ids, type Thing } from './harness.js';

/** Ids are in code point order, so that query results can be compared directly. */
const RECORDS: readonly Draft[] = [
  { id: 'a', name: 'Alpha', kind: 'doc', rank: 1, amount: 0.5, active: true, email: 'a@x.org', tags: ['red', 'blue'] },
  { id: 'b', name: 'alpha', kind: 'doc', rank: 2, amount: -1, active: false, email: null, tags: ['blue'] },
  { id: 'c', name: 'Alphabet', kind: 'table', rank: 2, note: '', tags: [] },
  { id: 'd', name: '100%_sure.*', kind: 'table', rank: 10, note: 'it\'s "quoted" \\ back', numbers: [1, 10] },
  { id: 'e', name: '100 percent', note: null, rank: 0, active: true, numbers: [2] },
  { id: 'f', name: 'ÄÖ 漢字 😀 end', kind: 'doc', note: 'line one\nline two', tags: ['漢字', 'a.b', '$in'] },
  { id: 'g', name: '[a-z]+(x|y)?^$', kind: '10', note: '10', tags: ['10'] },
];

type Case = readonly [title: string, where: Where<Thing>, found: string];

const EQUALITY: readonly Case[] = [
  ['no condition matches all', {}, 'abcdefg'],
  ['equal text, case-sensitive', { name: 'alpha' }, 'b'],
  ['equal number', { rank: 2 }, 'bc'],
  ['equal zero', { rank: 0 }, 'e'],
  ['equal true', { active: true }, 'ae'],
  ['equal false is not absent', { active: false }, 'b'],
  ['equal empty text is neither null nor absent', { note: '' }, 'c'],
  ['equal id', { id: 'd' }, 'd'],
  ['equal version', { version: 1 }, 'abcdefg'],
  ['all fields must match', { kind: 'doc', rank: 2 }, 'b'],
  ['text never equals a number', { rank: '2' as unknown as number }, ''],
  ['a number never equals text', { note: 10 as unknown as string }, ''],
  ['a number never equals a boolean', { active: 1 as unknown as boolean }, ''],
  ['a scalar never equals an array that holds it', { tags: 'blue' }, ''],
  ['in', { id: { in: ['a', 'g', 'zz', 'a'] } }, 'ag'],
  ['in numbers', { rank: { in: [0, 10] } }, 'de'],
  ['in nothing', { id: { in: [] } }, ''],
  ['in never matches arrays', { tags: { in: ['blue'] } }, ''],
  ['not excludes absent fields', { kind: { not: 'doc' } }, 'cdg'],
  ['not excludes null', { email: { not: 'zz' } }, 'a'],
  ['not true', { active: { not: true } }, 'b'],
  ['exists', { email: { exists: true } }, 'a'],
  ['exists, empty', { note: { exists: true } }, 'cdfg'],
  ['exists false is absent or null', { note: { exists: false } }, 'abe'],
  ['exists on arrays', { tags: { exists: true } }, 'abcfg'],
  ['an undefined condition is ignored', { kind: undefined, rank: { gte: 2, lt: undefined } }, 'bcd'],
];

const RANGES: readonly Case[] = [
  ['gt', { rank: { gt: 2 } }, 'd'],
  ['gte', { rank: { gte: 2 } }, 'bcd'],
  ['lt', { rank: { lt: 1 } }, 'e'],
  ['lte', { rank: { lte: 1 } }, 'ae'],
  ['numbers are compared as numbers', { rank: { gt: 2, lte: 10 } }, 'd'],
  ['fractions and negatives', { amount: { gte: -1, lt: 0.6 } }, 'ab'],
  ['text is compared by code points', { name: { gte: 'Alphabet', lt: '[z' } }, 'cg'],
  ['text beyond ASCII', { name: { gt: 'z' } }, 'f'],
  ['a range over text finds no numbers', { rank: { gte: '' as unknown as number } }, ''],
  ['a range over numbers finds no text', { note: { gte: 0 as unknown as string } }, ''],
  ['a range finds no null', { note: { lte: 'a' } }, 'cg'],
  ['an id range', { id: { gt: 'b', lte: 'e' } }, 'cde'],
];

const TEXTS: readonly Case[] = [
  ['prefix, case-sensitive', { name: { prefix: 'Alpha' } }, 'ac'],
  ['prefix with characters of patterns', { name: { prefix: '100%_' } }, 'd'],
  ['prefix that looks like an expression', { name: { prefix: '[a-z]+(' } }, 'g'],
  ['prefix beyond ASCII', { name: { prefix: 'ÄÖ 漢' } }, 'f'],
  ['prefix longer than the text', { name: { prefix: 'alphas' } }, ''],
  ['empty prefix is any text', { note: { prefix: '' } }, 'cdfg'],
  ['prefix together with a range', { name: { prefix: 'Alpha', gt: 'Alpha' } }, 'c'],
  ['substring, case-sensitive', { name: { substring: 'lpha' } }, 'abc'],
  ['substring in another case', { name: { substring: 'ALPHA' } }, ''],
  ['substring %', { name: { substring: '%' } }, 'd'],
  ['substring _', { name: { substring: '_' } }, 'd'],
  ['substring .*', { name: { substring: '.*' } }, 'd'],
  ['substring . is not a wildcard', { name: { substring: 'l.h' } }, ''],
  ['substring of an expression', { name: { substring: '(x|y)?^$' } }, 'g'],
  ['substring with quotes', { note: { substring: '\'s "quoted"' } }, 'd'],
  ['substring with a backslash', { note: { substring: '\\ b' } }, 'd'],
  ['substring across lines', { note: { substring: 'one\nline' } }, 'f'],
  ['substring beyond ASCII', { name: { substring: '漢字 😀' } }, 'f'],
  ['substring together with other conditions', { kind: 'doc', name: { substring: 'a', not: 'alpha' } }, 'a'],
  ['substring with quotes, by a long part', { note: { substring: 'it\'s "quoted" \\ back' } }, 'd'],
  ['substring of three characters, indexed', { name: { substring: 'lph' } }, 'abc'],
  ['substring as long as the text, indexed', { name: { substring: '[a-z]+(x|y)?^$' } }, 'g'],
  ['substring longer than the text, indexed', { name: { substring: '[a-z]+(x|y)?^$ ' } }, ''],
  ['substring of parts in another order, indexed', { name: { substring: 'betalpha' } }, ''],
  ['substring beside an order of ids, indexed', { name: { substring: 'lpha' }, id: { in: ['c', 'd'] } }, 'c'],
  ['empty substring is any text', { note: { substring: '' } }, 'cdfg'],
];

const ARRAYS: readonly Case[] = [
  ['contains', { tags: { contains: 'blue' } }, 'ab'],
  ['contains the whole element only', { tags: { contains: 'blu' } }, ''],
  ['contains what looks like a path', { tags: { contains: 'a.b' } }, 'f'],
  ['contains what looks like an operator', { tags: { contains: '$in' } }, 'f'],
  ['contains beyond ASCII', { tags: { contains: '漢字' } }, 'f'],
  ['contains distinguishes text from numbers', { tags: { contains: 10 } }, ''],
  ['contains a number, unindexed', { numbers: { contains: 10 } }, 'd'],
  ['contains never matches scalars', { kind: { contains: 'doc' } }, ''],
  ['containsAny', { tags: { containsAny: ['red', '漢字', 'none'] } }, 'af'],
  ['containsAny finds a record once', { tags: { containsAny: ['red', 'blue'] } }, 'ab'],
  ['containsAny of nothing', { tags: { containsAny: [] } }, ''],
  ['contains twice by and', { and: [{ tags: { contains: 'red' } }, { tags: { contains: 'blue' } }] }, 'a'],
];

const NESTED: readonly Case[] = [
  ['or', { or: [{ rank: 0 }, { kind: 'table' }] }, 'cde'],
  ['or together with a condition', { kind: 'doc', or: [{ rank: 1 }, { rank: 2 }] }, 'ab'],
  [
    'containsAny within or, together with a condition',
    { kind: 'doc', or: [{ rank: 2 }, { tags: { containsAny: ['red', 'none'] } }] },
    'ab',
  ],
  ['or of nothing matches nothing', { or: [] }, ''],
  ['and', { and: [{ kind: 'doc' }, { rank: { gt: 1 } }] }, 'b'],
  ['and of nothing matches all', { and: [] }, 'abcdefg'],
  ['and twice on one field', { and: [{ rank: { gte: 1 } }, { rank: { lte: 1 } }] }, 'a'],
  [
    'and and or, nested',
    {
      and: [
        { or: [{ kind: 'doc' }, { kind: 'table' }] },
        { or: [{ and: [{ rank: 2 }, { active: false }] }, { id: 'd' }] },
      ],
    },
    'bd',
  ],
  ['or of an empty condition matches all', { or: [{}, { rank: 0 }] }, 'abcdefg'],
  ['exists false within or', { or: [{ kind: { exists: false } }, { rank: 1 }] }, 'ae'],
];

export function conditionDuties(duty: Duties, use: () => Bench): void {
  const table = (title: string, cases: readonly Case[]): void =>
    duty(title, async () => {
      const { fill, things } = use();
      const all = await things();
      await fill(all, RECORDS);
      const found: Record<string, string> = {};
      for (const [name, where] of cases) {
        const records = await all.find({ where, limit: 100 });
        found[name] = ids(records).join('');
        expect(`${name}: ${await all.count(where)}`).toBe(`${name}: ${records.length}`);
      }
      expect(found).toEqual(Object.fromEntries(cases.map(([name, , expected]) => [name, expected])));
    });
  table('equality, in, not and exists', EQUALITY);
  table('ranges', RANGES);
  table('prefix and substring', TEXTS);
  table('contains and containsAny', ARRAYS);
  table('and and or', NESTED);

  duty('matches a long list of values', async () => {
    const { fill, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', kind: 'k7' },
      { id: 'b', kind: 'k2999' },
      { id: 'c', kind: 'k3000' },
    ]);
    const kinds = Array.from({ length: 3000 }, (_, at) => `k${at}`);
    expect(ids(await all.find({ where: { kind: { in: kinds } }, limit: 9 }))).toEqual(['a', 'b']);
    expect(await all.count({ id: { in: [...kinds, 'c'] } })).toBe(1);
  });
}
