import { describe, expect, test } from '@jest/globals';
import { hostsIn, ReplyFilter } from '../src/engine/reply-filter.js';

const allowed = 'https://docs.example.org/page';
const resource = 'resource:00000000-0000-4000-8000-000000000002';

function filterOf() {
  const markers = new Map<number, number>();
  return new ReplyFilter({
    cite(source) {
      if (source < 1 || source > 9) return undefined;
      if (!markers.has(source)) markers.set(source, markers.size + 1);
      return markers.get(source);
    },
    allowsHost: (host) => host === 'docs.example.org',
  });
}

function whole(text: string): string {
  const filter = filterOf();
  return filter.push(text) + filter.end();
}

const cases: readonly [name: string, input: string, output: string][] = [
  [
    'plain text stays',
    'A plain sentence.\nAnother one, with 3 < 4 and a*b.',
    'A plain sentence.\nAnother one, with 3 < 4 and a*b.',
  ],
  ['citations are numbered by first use', 'One [3]. Two [7], three [3].', 'One [1]. Two [2], three [1].'],
  ['several numbers in one bracket', 'Both [2, 5].', 'Both [1][2].'],
  ['a citation without a source goes', 'Made up [42].', 'Made up .'],
  [
    'an image from elsewhere becomes a link and then code',
    '![x](https://evil.test/?q=secret)',
    'x `https://evil.test/?q=secret`',
  ],
  ['an image of a resource stays', `![x](${resource})`, `![x](${resource})`],
  ['an image on an allowed host becomes a link', `![x](${allowed})`, `[x](${allowed})`],
  ['a link to an allowed host stays', `see [page](${allowed})`, `see [page](${allowed})`],
  ['a link to another host is code', '[page](https://evil.test/a)', 'page `https://evil.test/a`'],
  ['a link without http is code', '[page](javascript:alert(1))', 'page `javascript:alert(1)`'],
  ['a relative link is code', '[page](//evil.test/a)', 'page `//evil.test/a`'],
  ['a bare URL of another host is code', 'go to https://evil.test/a.', 'go to `https://evil.test/a`.'],
  ['a bare URL of an allowed host stays', `go to ${allowed}.`, `go to ${allowed}.`],
  ['www is a URL as well', 'www.evil.test/a b', '`www.evil.test/a` b'],
  ['an autolink is code', '<https://evil.test/a>', '`https://evil.test/a`'],
  ['a definition is code', '[a]: https://evil.test/a\n', '\\[a]: `https://evil.test/a`\n'],
  ['HTML is escaped', '<img src="https://evil.test/a">', '\\<img src="`https://evil.test/a`">'],
  ['code stays as it is', 'a `[1] <b> https://evil.test` b', 'a `[1] <b> https://evil.test` b'],
  [
    'a block of code stays as it is',
    '```md\n[1](https://evil.test)\n```\n[1]',
    '```md\n[1](https://evil.test)\n```\n[1]',
  ],
  [
    'an image within a link',
    '[![a](https://evil.test/i)](https://evil.test/l)',
    'a `https://evil.test/i` `https://evil.test/l`',
  ],
  [
    'credentials in a URL are no host',
    '[a](https://docs.example.org@evil.test/)',
    'a `https://docs.example.org@evil.test/`',
  ],
  ['an escape stays', 'a \\[1] b', 'a \\[1] b'],
  ['a link that never ends is text', '[a](https://evil.test/a\n\nnext', 'a \\(`https://evil.test/a`\n\nnext'],
  ['a code span that never ends hides nothing', 'a ` https://evil.test/a', 'a \\` `https://evil.test/a`'],
  ['brackets that are neither', 'an [open list and [a] thing', 'an [open list and [a] thing'],
];

describe('the allowed contents of a reply', () => {
  test.each(cases)('%s', (_, input, output) => {
    expect(whole(input)).toBe(output);
  });

  test.each(cases)('%s, in pieces of any size', (_, input, output) => {
    for (let size = 1; size < 12; size++) {
      const filter = filterOf();
      let text = '';
      for (let at = 0; at < input.length; at += size) text += filter.push(input.slice(at, at + size));
      expect(text + filter.end()).toBe(output);
    }
  });

  test('plain text is not held back', () => {
    const filter = filterOf();
    expect(filter.push('The answer')).toBe('The answer');
    expect(filter.push(' is 4, and ht')).toBe(' is 4, and ');
    expect(filter.push('at')).toBe('htat');
    expect(filter.end()).toBe('');
  });

  test('an unfinished construct is held back up to a limit', () => {
    const filter = filterOf();
    expect(filter.push(`[${'a'.repeat(9_000)}`)).toBe(`[${'a'.repeat(9_000)}`);
  });

  test('hosts are found in texts', () => {
    expect([...hostsIn(`Read ${allowed} and (http://Other.test:81/x).`)]).toEqual([
      'docs.example.org',
      'other.test:81',
    ]);
  });
});
