import { effort } from '@commonplace/kit/testing';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openConfluenceSource } from '../../../src/imports/sources/confluence/source.js';
import { openGoogleDocsSource } from '../../../src/imports/sources/google-docs/source.js';
import { openHtmlSource } from '../../../src/imports/sources/html/source.js';
import { openNativeSource } from '../../../src/imports/sources/native/index.js';
import { openNotionSource } from '../../../src/imports/sources/notion/source.js';
import { openOutlineSource } from '../../../src/imports/sources/outline/source.js';
import { ImportFault, type OpenSource } from '../../../src/imports/sources/port.js';
import { faultOf, readAll, treeOf, wordsOf } from './bundle.js';

const ID = 'a'.repeat(32);

/** Each reader of pages, with a function that places one page in its files. */
const READERS: readonly [string, OpenSource, (page: string) => Record<string, string>][] = [
  ['html', openHtmlSource, (page) => ({ 'a.html': page })],
  ['google docs', openGoogleDocsSource, (page) => ({ 'a.html': page })],
  ['notion html', openNotionSource, (page) => ({ [`a ${ID}.html`]: page })],
  ['notion markdown', openNotionSource, (page) => ({ [`a ${ID}.md`]: page, [`a ${ID}/b.csv`]: page })],
  ['outline markdown', openOutlineSource, (page) => ({ 'C/a.md': page })],
  ['confluence', openConfluenceSource, (page) => ({ 'index.html': page, 'a_123.html': page })],
];

const HOSTILE: readonly [string, string][] = [
  ['nothing', ''],
  ['elements nested in each other', '<div>'.repeat(200_000)],
  ['marks nested in each other', `${'<b><i>'.repeat(100_000)}x`],
  ['lists nested in each other', '<ul><li>'.repeat(100_000)],
  ['tables nested in each other', '<table><tr><td>'.repeat(50_000)],
  ['callouts nested in each other', '<figure class="callout"><div>'.repeat(20_000)],
  ['panels nested in each other', '<div class="panel"><div class="panelContent">'.repeat(20_000)],
  ['toggles nested in each other', '<details>\n<summary>x</summary>\n\n'.repeat(5_000)],
  ['asides nested in each other', '<aside>\n'.repeat(5_000)],
  ['closing without opening', '</div></aside></details>\n'.repeat(50_000)],
  ['an open tag', `<a href="${'x'.repeat(1_000_000)}`],
  ['an open comment', `<!-- ${'x'.repeat(1_000_000)}`],
  ['many attributes', `<p ${Array.from({ length: 50_000 }, (_, at) => `a${at}="x"`).join(' ')}>x</p>`],
  ['many open brackets', '<'.repeat(500_000)],
  ['many entities', '&amp;'.repeat(200_000)],
  ['NULs', '\0<p>\0x\0</p>\0'],
  ['stars', '*'.repeat(200_000)],
  ['brackets', '!['.repeat(100_000)],
  ['equal signs', '=='.repeat(200_000)],
  ['underlines', '__a'.repeat(100_000)],
  ['dollars', '$$'.repeat(200_000)],
  ['colons', ':::info\n'.repeat(50_000)],
  ['blanks', `# ${' '.repeat(500_000)}x`],
  ['one line', `# T\n\n${'word '.repeat(500_000)}`],
  ['many classes', `<style>${'.a{font-weight:700}'.repeat(20_000)}</style><p class="${'a '.repeat(20_000)}">x</p>`],
  ['ticks', `${'`'.repeat(100_000)}x`],
];

describe.each(READERS)('%s ends in time with', (_, open, place) => {
  test.each(HOSTILE)('%s', async (_name, page) => {
    try {
      const { contents } = await readAll(open, place(page));
      expect(contents.size).toBeGreaterThan(0);
    } catch (error) {
      expect(error).toBeInstanceOf(ImportFault);
    }
  });
});

const tag = fc.constantFrom(
  'p',
  'div',
  'b',
  'a',
  'ul',
  'li',
  'table',
  'td',
  'svg',
  'math',
  'pre',
  'code',
  'details',
  'summary',
  'script',
  'title',
  'x-y',
  'main',
);
const piece = fc.oneof(
  tag.map((name) => `<${name}>`),
  tag.map((name) => `</${name}>`),
  fc.constantFrom(
    '<a href="x">',
    '<img src="a.png">',
    '<img>',
    '<input type=checkbox>',
    '<p style="font-weight:700">',
    '<',
    '>',
    '&',
    '&lt;',
    '"',
    '<!--',
    '-->',
    '\0',
    '\ud800',
    '# ',
    '\n',
    '`',
    '<aside>',
    '</aside>',
  ),
  fc.string({ maxLength: 8 }),
);

test('reads any page to plain text and tags, or refuses it', async () => {
  const property = fc.asyncProperty(
    fc.array(piece, { maxLength: 60 }),
    fc.nat(READERS.length - 1),
    async (pieces, at) => {
      const [, open, place] = READERS[at] as (typeof READERS)[number];
      const { contents } = await readAll(open, place(pieces.join(''))).catch((error: unknown) => {
        expect(error).toBeInstanceOf(ImportFault);
        return { contents: new Map() };
      });
      for (const content of contents.values()) {
        if (content instanceof ImportFault) continue;
        const text = JSON.stringify(content);
        expect(content.html ?? '').not.toContain('<script');
        expect(text).not.toMatch(/\\u0000|\\ud800/);
        expect(text.length).toBeLessThan(20_000);
      }
    },
  );
  await fc.assert(property, { numRuns: effort(50) });
});

const word = fc.stringMatching(/^[a-z]{1,8}$/);
const inline = fc.tuple(
  fc.constantFrom('b', 'i', 'span', 'a href="x"', 'font', 'code', 'mark', 'time', 'x-y', 'label'),
  word,
);
const block = fc.tuple(
  fc.constantFrom(
    'p',
    'div',
    'h2',
    'blockquote',
    'li',
    'td',
    'section',
    'pre',
    'dd',
    'figcaption',
    'details',
    'form',
    'center',
  ),
  fc.array(inline, { minLength: 1, maxLength: 4 }),
);

test('keeps every word of a page in order', async () => {
  const property = fc.asyncProperty(fc.array(block, { minLength: 1, maxLength: 12 }), fc.nat(1), async (blocks, at) => {
    const page = blocks
      .map(
        ([name, words]) =>
          `<${name}>${words.map(([mark, text]) => `<${mark}>${text}</${mark.split(' ')[0]}>`).join(' ')}</${name}>`,
      )
      .join('\n');
    const [, open] = READERS[at] as (typeof READERS)[number];
    const { content } = await readAll(open, { 'a.html': `<title>Other</title><body>${page}</body>` });
    expect(wordsOf(content('a.html').html ?? '').join(' ')).toBe(wordsOf(page).join(' '));
  });
  await fc.assert(property, { numRuns: effort(50) });
});

describe('an archive of a workspace', () => {
  const id = '01a20000-0000-7000-8000-000000000001';
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const archiveOf = (resource: object, entries: Record<string, string>) => ({
    'manifest.json': '{"format":"commonplace-archive","format_version":1,"content":"native"}',
    [`resources/${id}.json`]: JSON.stringify({ id, name: 'T', type: 'table', ...resource }),
    ...entries,
  });

  test('with values nested deep in a table fails at that table alone', async () => {
    const path = `content/${id}.json`;
    const rows = `[{"cells":{"a":${deep}}}]`;
    const files = archiveOf({ content: { path } }, { [path]: `{"columns":[{"id":"a"}],"rows":${rows}}` });
    const { contents } = await readAll(openNativeSource, files);
    expect([...contents.values()]).toMatchObject([{ code: 'nested_too_deep' }]);
  });

  test('with values nested deep in the description of a resource is refused', async () => {
    const path = `resources/${id}.json`;
    const files = archiveOf({}, { [path]: `{"id":"${id}","name":"T","type":"folder","metadata":{"a":${deep}}}` });
    expect(await faultOf(readAll(openNativeSource, files))).toBe('nested_too_deep');
  });

  test('with resources that are each below the other has one of them at the top', async () => {
    const other = id.replace(/1$/, '2');
    const files = archiveOf(
      { type: 'folder', name: 'A', parent_id: other },
      { [`resources/${other}.json`]: JSON.stringify({ id: other, name: 'B', type: 'folder', parent_id: id }) },
    );
    const { source } = await readAll(openNativeSource, files);
    expect(treeOf(source)).toHaveLength(2);
    expect(treeOf(source)[1]).toMatch(/^ {2}folder [AB]$/);
  });
});
