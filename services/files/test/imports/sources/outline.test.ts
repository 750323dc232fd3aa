import { describe, expect, test } from '@jest/globals';
import { openOutlineSource } from '../../../src/imports/sources/outline/source.js';
import { bundleOf, faultOf, linkOf, readAll, treeOf } from './bundle.js';

const PAGE = `# 🚀 Start here

Read \`==code==\`, ==marked== and __under__ with $$x^2$$.

\\
:::warning
Careful

:::

+++ Fold
inside
+++

![A shot](uploads/u1/f1/shot.png " =640x480") and ![T](uploads/u1/f1/shot.png "Title =10x10")

[Next](./Start%20here/Next%2Fstep.md) [Doc](/doc/next-step-aBcDeFgHiJ) @[Ada](mention://m1/user/u1)

\`\`\`
:::info
\`\`\`

$$$
a
$$$
`;

describe('an export of Outline as Markdown', () => {
  const files = {
    'Team/Start here.md': PAGE,
    'Team/Start here/Next%2Fstep.md': '# Next/step\n\nx\n',
    'Team/uploads/u1/f1/shot.png': Buffer.from([1]),
    'Other.pdf': Buffer.from([2]),
  };

  test('has collections as folders and pages below pages', async () => {
    const { source } = await readAll(openOutlineSource, files);
    expect(treeOf(source)).toEqual([
      'folder Team',
      '  document Start here',
      '    document Next/step',
      '  file shot.png',
      'file Other.pdf',
    ]);
  });

  test('is converted to the forms of the product', async () => {
    const { content } = await readAll(openOutlineSource, files);
    const { title, icon, markdown = '' } = content('Team/Start here.md');
    expect({ title, icon }).toEqual({ title: 'Start here', icon: '🚀' });
    expect(markdown).toContain('Read `==code==`, <mark>marked</mark> and <u>under</u> with $x^2$.');
    expect(markdown).toContain('> [!WARNING]\n> Careful');
    expect(markdown).toContain(':::toggle{summary="Fold"}\ninside\n:::');
    expect(markdown).toContain('![A shot](uploads/u1/f1/shot.png) and ![T](uploads/u1/f1/shot.png "Title")');
    expect(markdown).toContain('@Ada');
    expect(markdown).toContain('```\n:::info\n```');
    expect(markdown).toContain('$$\na\n$$');
    expect(markdown).not.toContain('\\\n');
  });

  test('resolves links', async () => {
    const { source } = await readAll(openOutlineSource, files);
    const link = (href: string) => linkOf(source, 'Team/Start here.md', href);
    expect(link('./Start%20here/Next%2Fstep.md')).toBe('Team/Start here/Next%2Fstep.md');
    expect(link('/doc/next-step-aBcDeFgHiJ')).toBe('Team/Start here/Next%2Fstep.md');
    expect(link('uploads/u1/f1/shot.png')).toBe('Team/uploads/u1/f1/shot.png');
    expect(link('/doc/gone-aBcDeFgHiJ')).toBe('broken');
    expect(link('https://example.com/a')).toBe('outside');
  });
});

const text = (words: string, ...marks: object[]) => ({
  type: 'text',
  text: words,
  ...(marks.length > 0 ? { marks } : {}),
});
const paragraph = (...content: object[]) => ({ type: 'paragraph', content });

const DATA = {
  type: 'doc',
  content: [
    { type: 'heading', attrs: { level: 2 }, content: [text('Head')] },
    paragraph(
      text('b', { type: 'strong' }, { type: 'em' }),
      text('l', { type: 'link', attrs: { href: '/doc/second-zZ12345678' } }),
      { type: 'br' },
      text('<x>'),
    ),
    {
      type: 'checkbox_list',
      content: [{ type: 'checkbox_item', attrs: { checked: true }, content: [paragraph(text('done'))] }],
    },
    {
      type: 'ordered_list',
      attrs: { order: 3 },
      content: [{ type: 'list_item', content: [paragraph(text('three'))] }],
    },
    { type: 'code_fence', attrs: { language: 'js' }, content: [text('a < b')] },
    { type: 'container_notice', attrs: { style: 'tip' }, content: [paragraph(text('tip'))] },
    {
      type: 'table',
      content: [
        {
          type: 'tr',
          content: [
            { type: 'th', attrs: { colspan: 1, rowspan: 1, alignment: 'right' }, content: [paragraph(text('cell'))] },
          ],
        },
      ],
    },
    paragraph({
      type: 'image',
      attrs: { src: '/api/attachments.redirect?id=att-1', alt: 'shot', title: null, width: 10 },
    }),
    { type: 'attachment', attrs: { href: '/api/attachments.redirect?id=att-2', title: 'report.pdf', size: 3 } },
    { type: 'math_block', content: [text('x')] },
    { type: 'mention', attrs: { type: 'document', label: 'Second', modelId: 'doc-2' } },
    { type: 'brand_new_block', content: [paragraph(text('kept'))] },
  ],
};

const document = (
  id: string,
  urlId: string,
  title: string,
  parent: string | null,
  data: object = { type: 'doc', content: [paragraph(text(title))] },
) => ({
  id,
  urlId,
  title,
  icon: null,
  data,
  parentDocumentId: parent,
  createdById: 'u',
  createdByName: 'Ada',
  createdByEmail: 'ada@x.example',
  createdAt: '2024-01-05T00:00:00.000Z',
  updatedAt: '2024-02-05T00:00:00.000Z',
  publishedAt: null,
  fullWidth: false,
  template: false,
});

describe('an export of Outline as JSON', () => {
  const files = {
    'metadata.json': '{"exportVersion":1}',
    'Team.json': JSON.stringify({
      collection: {
        id: 'col-1',
        urlId: 'cU1',
        name: 'Team',
        data: { type: 'doc', content: [] },
        icon: 'collection',
        documentStructure: [
          {
            id: 'doc-2',
            url: '/doc/second-zZ12345678',
            title: 'Second',
            children: [{ id: 'doc-1', title: 'First', children: [] }],
          },
        ],
      },
      documents: {
        'doc-1': document('doc-1', 'aA12345678', 'First', 'doc-2', DATA),
        'doc-2': document('doc-2', 'zZ12345678', 'Second', null),
        'doc-3': document('doc-3', 'oO12345678', 'Forgotten', 'doc-1'),
      },
      attachments: {
        'att-1': {
          id: 'att-1',
          documentId: 'doc-1',
          contentType: 'image/png',
          name: 'shot.png',
          size: 1,
          key: 'uploads/u/att-1/shot.png',
        },
        'att-2': {
          id: 'att-2',
          documentId: null,
          contentType: 'application/pdf',
          name: 'report.pdf',
          size: 1,
          key: 'uploads/u/att-2/report.pdf',
        },
      },
    }),
    'uploads/u/att-1/shot.png': Buffer.from([1]),
    'uploads/u/att-2/report.pdf': Buffer.from([2]),
    'uploads/u/att-3/lost.pdf': Buffer.from([3]),
  };

  test('has the tree of the collection, and its attachments below their pages', async () => {
    const { source } = await readAll(openOutlineSource, files);
    expect(treeOf(source)).toEqual([
      'folder Team',
      '  document Second',
      '    document First',
      '      document Forgotten',
      '      file shot.png',
      '  file report.pdf',
    ]);
    expect(source.skipped.map(({ path, code }) => `${code} ${path}`)).toEqual([
      'export_metadata metadata.json',
      'not_linked uploads/u/att-3/lost.pdf',
    ]);
  });

  test('keeps marks, blocks, dates and authors', async () => {
    const { source, content } = await readAll(openOutlineSource, files);
    const { html, ...facts } = content('Team.json#doc-1');
    expect(facts).toMatchObject({
      title: 'First',
      author: 'ada@x.example',
      createdAt: '2024-01-05T00:00:00.000Z',
      updatedAt: '2024-02-05T00:00:00.000Z',
    });
    expect(facts.warnings).toEqual(['A block of the type brand_new_block is replaced by its content']);
    expect(html).toBe(
      '<h2>Head</h2><p><strong><em>b</em></strong><a href="/doc/second-zZ12345678">l</a><br>&lt;x&gt;</p>' +
        '<ul><li><input type="checkbox" checked=""><p>done</p></li></ul><ol start="3"><li><p>three</p></li></ol>' +
        '<pre><code class="language-js">a &lt; b</code></pre><aside data-callout="tip"><p>tip</p></aside>' +
        '<table><tr><th align="right" colspan="1" rowspan="1"><p>cell</p></th></tr></table>' +
        '<p><img src="/api/attachments.redirect?id=att-1" alt="shot" width="10"></p>' +
        '<p><a href="/api/attachments.redirect?id=att-2">report.pdf</a></p><div data-math="block">x</div><a href="/doc/doc-2">Second</a><p>kept</p>',
    );
    const link = (href: string) => linkOf(source, 'Team.json#doc-1', href);
    expect(link('/api/attachments.redirect?id=att-1')).toBe('uploads/u/att-1/shot.png');
    expect(link('https://team.getoutline.com/doc/second-zZ12345678')).toBe('Team.json#doc-2');
    expect(link('/doc/doc-2')).toBe('Team.json#doc-2');
    expect(link('/doc/nowhere-qQ12345678')).toBe('broken');
    expect(link('https://example.com')).toBe('outside');
  });

  test('is refused when its shape is unknown', async () => {
    expect(await faultOf(openOutlineSource(bundleOf({ 'a.json': '{"a":1}' }), {}))).toBe('no_pages');
  });
});
