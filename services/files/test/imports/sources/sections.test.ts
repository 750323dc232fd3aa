import { describe, expect, test } from '@jest/globals';
import { openConfluenceSource } from '../../../src/imports/sources/confluence/source.js';
import { openNotionSource } from '../../../src/imports/sources/notion/source.js';
import { openOutlineSource } from '../../../src/imports/sources/outline/source.js';
import type { OpenSource } from '../../../src/imports/sources/port.js';
import { splitting } from '../../../src/imports/sources/sections/index.js';
import { linkOf, readAll, treeOf } from './bundle.js';

const ID = 'a'.repeat(32);
const MARKDOWN = '# Book\n\nBefore\n\n# One\n\n[There](Other.md) [here](#two)\n\n# Two\n\n2\n';
const HTML = '<p>Before</p><h1>One</h1><p><a href="Other.html">There</a></p><h1>Two</h1><p>2</p>';

const heading = (words: string) => ({
  ...{ type: 'heading', attrs: { level: 1 } },
  content: [{ type: 'text', text: words }],
});
const paragraph = (words: string) => ({ type: 'paragraph', content: [{ type: 'text', text: words }] });
const COLLECTION = {
  collection: { id: 'c1', name: 'Team', documentStructure: [{ id: 'd1', children: [] }] },
  documents: {
    d1: {
      ...{ id: 'd1', title: 'Book', createdByEmail: 'ada@example.com' },
      data: { type: 'doc', content: [paragraph('Before'), heading('One'), paragraph('1'), heading('Two')] },
    },
  },
  attachments: {},
};
const confluence = (title: string, main: string) =>
  `<html><head><title>Space : ${title}</title></head><body><h1 id="title-heading"><span id="title-text"> Space : ${title} </span></h1>
<div id="content"><div id="main-content">${main}</div></div></body></html>`;

describe('documents of an export that are split at their top headings', () => {
  test.each<[string, OpenSource, Readonly<Record<string, string>>, string, string | undefined]>([
    [
      'Notion, as Markdown',
      openNotionSource,
      { [`Book ${ID}.md`]: MARKDOWN, 'Other.md': '# Other' },
      `Book ${ID}.md`,
      'Other.md',
    ],
    [
      'Confluence',
      openConfluenceSource,
      {
        'S/index.html': '<ul><li><a href="Book_100.html">Book</a></li><li><a href="Other.html">Other</a></li></ul>',
        'S/Book_100.html': confluence('Book', HTML),
        'S/Other.html': confluence('Other', '<p>x</p>'),
      },
      'S/Book_100.html',
      'Other.html',
    ],
    ['Outline, as Markdown', openOutlineSource, { 'Book.md': MARKDOWN, 'Other.md': '# Other' }, 'Book.md', 'Other.md'],
    ['Outline, as JSON', openOutlineSource, { 'Team.json': JSON.stringify(COLLECTION) }, 'Team.json#d1', undefined],
  ])('of %s', async (_, open, files, path, other) => {
    const whole = await readAll(splitting(open), files);
    expect(whole.source.items.filter((item) => item.path.startsWith(path))).toHaveLength(1);
    const { source, content } = await readAll(splitting(open), files, { splitHeadings: true });
    const tree = treeOf(source).map((line) => line.trim());
    const at = tree.indexOf('document Book');
    expect(tree.slice(at + 1, at + 3)).toEqual(['document One', 'document Two']);
    const below = source.items.filter(({ parent }) => parent === path);
    expect(below.map((item) => item.path)).toEqual([`${path}#1`, `${path}#2`]);
    const textOf = (one: string) => `${content(one).markdown ?? ''}${content(one).html ?? ''}`;
    expect(content(path).title).toBe('Book');
    expect(textOf(path)).toContain('Before');
    expect(textOf(path)).not.toContain('There');
    expect(content(`${path}#1`)).toMatchObject({ title: 'One', author: content(path).author });
    expect(textOf(`${path}#1`)).not.toContain('Before');
    if (other === undefined) return;
    expect(textOf(`${path}#1`)).toContain('There');
    expect(linkOf(source, `${path}#1`, other)).toBe(linkOf(source, path, other));
    expect(linkOf(source, `${path}#1`, '#two')).toBe(`${path}#1`);
  });

  test('keep a title that is not that of their first section', async () => {
    const files = { [`Book ${ID}.md`]: '# Book: all of it\n\n# One\n\n# Two\n' };
    const { content } = await readAll(splitting(openNotionSource), files, { splitHeadings: true });
    expect(content(`Book ${ID}.md`)).toMatchObject({ title: 'Book: all of it', markdown: '' });
  });
});
