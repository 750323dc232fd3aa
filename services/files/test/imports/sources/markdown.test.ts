import { describe, expect, test } from '@jest/globals';
import { openMarkdown, openMarkdownZip } from '../../../src/imports/sources/markdown/index.js';
import { splitting } from '../../../src/imports/sources/sections/index.js';
import { readAll, treeOf } from './bundle.js';

describe('a page of Markdown', () => {
  test('has no NULs, which no document may contain, and no byte order mark', async () => {
    const { content } = await readAll(openMarkdownZip, { 'a.md': '\ufeff# A\n\nx\0y\0', 'b.md': '\0# B' });
    expect([content('a.md').markdown, content('b.md').markdown]).toEqual(['# A\n\nxy', '# B']);
    expect(content('b.md').title).toBe('B');
  });
});

describe('a page that is split at its top headings', () => {
  const page = [
    '---\ntitle: Book # not a heading\n# nor this\n---\n',
    'Before[^n]\n\n# One *a*\n\n## Sub\n\n[here] [There][T]\n\n```\n# code\n```\n\n',
    '<div>\n# HTML\n</div>\n\n- # in a list\n\n',
    'Two\n===\r\n\r\n\r\nNote[^n].\r\n\r\n[here]: https://a.example/ "A"\r\n\r\n# \n\n# Three #\n',
    '[t]:\n  <https://t.example/>\n\n[^n]: A note\n\n    goes on\n',
  ].join('');

  test('has a document for each, with the definitions that it refers to', async () => {
    const { source, content } = await readAll(splitting(openMarkdown), { 'b.md': page }, { splitHeadings: true });
    expect(treeOf(source)).toEqual(['document b', '  document One *a*', '  document Two', '  document Three']);
    expect(content('b.md')).toMatchObject({ title: 'Book', wikiLinks: true });
    const matter = page.slice(0, page.indexOf('Before'));
    expect(content('b.md').markdown).toBe(`${matter}Before[^n]\n\n[^n]: A note\n\n    goes on\n`);
    expect(content('b.md#1')).toEqual({
      title: 'One *a*',
      markdown: [
        '## Sub\n\n[here] [There][T]\n\n```\n# code\n```\n\n<div>\n# HTML\n</div>\n\n- # in a list\n',
        '[here]: https://a.example/ "A"\n',
        '[t]:\n  <https://t.example/>\n',
      ].join('\n'),
      author: undefined,
      createdAt: undefined,
      updatedAt: undefined,
      wikiLinks: true,
    });
    expect(content('b.md#2').markdown).toBe(
      'Note[^n].\r\n\r\n[here]: https://a.example/ "A"\r\n\r\n#\n\n[^n]: A note\n\n    goes on\n',
    );
    expect(content('b.md#3').markdown).toBe('[t]:\n  <https://t.example/>\n\n[^n]: A note\n\n    goes on\n');
  });

  test('stays whole with one top heading, and unless it is requested', async () => {
    const files = { 'a.md': '# One\n\ntext\n', 'b.md': '# One\n\n# Two\n' };
    const whole = await readAll(openMarkdownZip, files);
    expect(treeOf(whole.source)).toEqual(['document a', 'document b']);
    const split = await readAll(splitting(openMarkdownZip), files, { splitHeadings: true });
    expect(treeOf(split.source)).toEqual(['document a', 'document b', '  document One', '  document Two']);
    expect(split.content('a.md')).toMatchObject({ title: 'One', markdown: files['a.md'] });
    expect(split.content('b.md')).toMatchObject({ title: undefined, markdown: '' });
    expect(split.content('b.md#2')).toMatchObject({ title: 'Two', markdown: '' });
    const [, section] = split.source.items.filter(({ path }) => path.startsWith('b.md'));
    expect(section && split.source.resolve(section, 'a.md')).toEqual({ item: 'a.md' });
  });
});
