import { expect, test } from '@jest/globals';
import { entry, everythingIn, type Use } from './harness.js';

export const HOSTILE: readonly string[] = [
  '"',
  '""""',
  'word"',
  '"word',
  'word" OR "x',
  'word NEAR(other, 2)',
  'NEAR',
  'AND OR NOT',
  'word AND',
  'word*',
  '*',
  '^word',
  '(word',
  ')))',
  '{name} : word',
  'name:word',
  'word - other',
  '-',
  '--',
  '+word',
  "word'; DROP TABLE entries; --",
  "'",
  'word\0x',
  '\0',
  '\ud800',
  '\udc00word',
  'type:',
  'tag:',
  'tag:"',
  'type:nonsense',
  '\u202eword',
  '🎉'.repeat(100),
];

export function hostileDuties(use: Use): void {
  test('are never read as query syntax', async () => {
    const { hold, ask, ids } = use();
    await hold(entry('a', { name: 'word', text: 'x' }), entry('b', { text: 'other' }));
    for (const query of HOSTILE) {
      const { hits } = await ask(query);
      expect([query, Array.isArray(hits)]).toEqual([query, true]);
    }
    expect(await ids('word*')).toEqual(['a']);
    expect(await ids('-"word')).toEqual(['b']);
    expect((await ids('word OR x')).sort()).toEqual(['a']);
    expect(await ids("word'; DROP TABLE entries; --")).toEqual(['a']);
  });

  test('are answered as a thousand characters of operators', async () => {
    const { hold, ask } = use();
    await hold(entry('a', { text: 'a b c' }), entry('b', { text: 'other' }));
    const long = ['"', '(', '* ', '-a ', 'a b ', 'NOT ', 'a OR ', '"a" ', '中', 'tag:x ', 'abcdefghij', '"a '];
    for (const piece of long) {
      const query = piece.repeat(Math.floor(1000 / piece.length));
      expect([piece, Array.isArray((await ask(query)).hits)]).toEqual([piece, true]);
    }
    const words = Array.from({ length: 250 }, (_, i) => `w${i}`).join(' ');
    expect(Array.isArray((await ask(words)).hits)).toBe(true);
    expect(Array.isArray((await ask(`-${words.replaceAll(' ', ' -')} a`)).hits)).toBe(true);
  });

  test('can be stored', async () => {
    const { hold, ids } = use();
    await hold(
      entry('nul', { name: 'a\0b', text: 'before\0after' }),
      entry('half', { text: 'lone \ud800 half' }),
      entry('long', { text: `${'x'.repeat(200_000)} end` }),
      entry('quotes', { name: `"'();--`, text: `"quoted" 'words'` }),
      entry('empty', { name: '', text: '' }),
    );
    expect(await ids('after')).toEqual(['nul']);
    expect(await ids('half')).toEqual(['half']);
    expect(await ids('end')).toEqual(['long']);
    expect(await ids('quoted')).toEqual(['quotes']);
  });

  test('are treated as data in ids of filters and narrowing', async () => {
    const { hold, ids } = use();
    await hold(entry('a', { text: 'word', tags: ['t'] }));
    const bad = `') OR 1=1 --`;
    expect(
      await ids('word', { filter: { ...everythingIn('ws-1'), openWorkspaceIds: [bad], boundaryIds: [bad] } }),
    ).toEqual([]);
    expect(await ids('word', { narrowing: { parentId: bad } })).toEqual([]);
    expect(await ids('word', { narrowing: { tags: [[bad]] } })).toEqual([]);
    expect(await ids('word', { narrowing: { metadata: { [bad]: bad } } })).toEqual([]);
    expect(await ids('word', { narrowing: { parentId: 'a\0b' } })).toEqual([]);
  });
}
