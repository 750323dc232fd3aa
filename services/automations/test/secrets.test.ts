import { describe, expect, test } from '@jest/globals';
import { masked } from '../src/runs/secrets.js';

describe('a secret', () => {
  const VALUE = 'a/b+c d"e\'f<ü>`{g}';
  const url = new URL(`https://example.com/${VALUE}?q=${VALUE}`);

  test.each([
    ['as it is', VALUE],
    ['as a component of a URL', encodeURIComponent(VALUE)],
    ['in the path of a URL', url.pathname],
    ['in the query of a URL', url.search],
    ['in the fields of a form', String(new URLSearchParams({ q: VALUE }))],
    ['in JSON', JSON.stringify({ q: VALUE })],
    ['in JSON with escaped slashes', JSON.stringify({ q: VALUE }).replaceAll('/', '\\/')],
  ])('is masked %s', (_, text) => {
    const shown = masked({ body: [`before ${text} after`] }, { values: { KEY: VALUE }, signing: [] });
    expect(JSON.stringify(shown)).toMatch(/^\{"body":\["before [^a]*\*{3}[^a]* after"\]\}$/);
  });

  test.each(['', 'a', 'ab', 'user:'])('is masked in Base64 after %j', (before) => {
    const bytes = Buffer.from(`${before}${VALUE}~~`);
    for (const encoding of ['base64', 'base64url'] as const) {
      const shown = String(masked(`Basic ${bytes.toString(encoding)}`, { values: { KEY: VALUE }, signing: [] }));
      const [, start = '', end = ''] = /^Basic ([\w-]*)\*{3}(\S*)$/.exec(shown) ?? [];
      expect([shown, start.length, end.length <= 6]).toEqual([shown, Math.ceil((before.length * 8) / 6), true]);
    }
    expect(masked(bytes.toString('base64'), { values: { KEY: 'short' }, signing: [] })).toBe(bytes.toString('base64'));
  });

  test('masks nothing beside it, also where a URL leaves little of it', () => {
    const text = 'https://example.com/b?b#b';
    expect(masked(text, { values: { KEY: 'aaaa/../b' }, signing: [] })).toBe(text);
  });
});
