import { describe, expect, test } from '@jest/globals';
import { openMarkdownZip } from '../../../src/imports/sources/markdown/index.js';
import { readAll } from './bundle.js';

describe('a page of Markdown', () => {
  test('has no NULs, which no document may contain, and no byte order mark', async () => {
    const { content } = await readAll(openMarkdownZip, { 'a.md': '\ufeff# A\n\nx\0y\0', 'b.md': '\0# B' });
    expect([content('a.md').markdown, content('b.md').markdown]).toEqual(['# A\n\nxy', '# B']);
    expect(content('b.md').title).toBe('B');
  });
});
