import { describe, expect, test } from '@jest/globals';
import { openNotionSource } from '../../../src/imports/sources/notion/source.js';
import { bundleOf, faultOf, linkOf, readAll, treeOf, wordsOf } from './bundle.js';

const id = (digit: string) => digit.repeat(32);
const [A, B, C, D, E, R1, R2] = ['a', 'b', 'c', 'd', 'e', '1', '2'].map(id) as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
];
const TOP = 'ExportBlock-0f0f0f0f-1111-2222-3333-444444444444-Part-1';

const HANDBOOK = `# Handbook: everything that a new colleague wants to know

Welcome.

<aside>
💡 A tip with **bold**

and more

</aside>

- [ ] open
- [x] done

[Tasks](Handbook%20everything%20that%20a%20new%20colleague/Tasks%20${B}.csv)

![shot](Handbook%20everything%20that%20a%20new%20colleague/Untitled.png)

<details>
<summary>More **here**</summary>

inside

</details>

\`\`\`html
<aside>
code stays
</aside>
\`\`\`

$$
E = mc^2
$$
`;

const files = {
  [`${TOP}/Private & Shared/Handbook everything that a new colleague ${A}.md`]: HANDBOOK,
  [`${TOP}/Private & Shared/Handbook everything that a new colleague/Untitled.png`]: Buffer.from([1]),
  [`${TOP}/Private & Shared/Handbook everything that a new colleague/Sub page ${C}.md`]: '# Sub page\n\nsub\n',
  [`${TOP}/Private & Shared/Handbook everything that a new colleague/Tasks ${B}.csv`]:
    '\ufeffName,Status\nWrite it,Open\n',
  [`${TOP}/Private & Shared/Handbook everything that a new colleague/Tasks ${B}_all.csv`]:
    '\ufeffName,Status,Due: date,Tags,Done\nWrite it,Open,"January 5, 2024","red, blue",Yes\nRead it,Done,"January 6, 2024",red,No\nSend it,Done,"January 6, 2024",blue,No\n',
  [`${TOP}/Private & Shared/Handbook everything that a new colleague/Tasks/Write it ${R1}.md`]:
    '# Write it\n\nStatus: Open\nDue: date: January 5, 2024\nTags: red, blue\nDone: Yes\n\nNote: this is text\n',
  [`${TOP}/Private & Shared/Handbook everything that a new colleague/Tasks/Read it ${R2}.md`]:
    '# Read it\n\nText: no property\n',
  [`ExportBlock-0f0f0f0f-1111-2222-3333-444444444444-Part-2/Team space/Same ${D}.md`]: '# Same\n',
  [`ExportBlock-0f0f0f0f-1111-2222-3333-444444444444-Part-2/Team space/Same ${E}.md`]: `# Same\n\n[x](https://www.notion.so/team/Sub-page-${C}?pvs=4)\n`,
  [`ExportBlock-0f0f0f0f-1111-2222-3333-444444444444-Part-2/Team space/Same eeee/Child ${id('9')}.md`]: '# Child\n',
};
const BASE = 'Private & Shared/Handbook everything that a new colleague';

describe('an export of Notion as Markdown', () => {
  test('has its pages below pages, databases as tables and rows below them', async () => {
    const { source } = await readAll(openNotionSource, files);
    expect(treeOf(source)).toEqual([
      'folder Private & Shared',
      '  document Handbook everything that a new colleague',
      '    document Sub page',
      '    table Tasks',
      '      document Write it',
      '      document Read it',
      'folder Team space',
      '  document Same',
      '  document Same',
      '    document Child',
      '    file Untitled.png',
    ]);
    expect(source.items.find(({ name }) => name === 'Tasks')?.externalId).toBe(B);
    expect(source.skipped.map(({ code }) => code)).toEqual(['duplicate_view']);
  });

  test('gives pages their full titles, and converts HTML of Notion to the forms of the product', async () => {
    const { content } = await readAll(openNotionSource, files);
    const { title, markdown = '' } = content(`${BASE} ${A}.md`);
    expect(title).toBe('Handbook: everything that a new colleague wants to know');
    expect(markdown).toContain('> [!TIP]\n> 💡 A tip with **bold**\n>\n> and more\n');
    expect(markdown).toContain(':::toggle{summary="More **here**"}\ninside\n:::');
    expect(markdown).toContain('```html\n<aside>\ncode stays\n</aside>\n```');
    expect(markdown).toContain('$$\nE = mc^2\n$$');
    expect(markdown).not.toContain('# Handbook');
  });

  test('reads a whole database with types', async () => {
    const { content } = await readAll(openNotionSource, files);
    expect(content(`${BASE}/Tasks ${B}_all.csv`).json).toMatchObject({
      columns: [
        { name: 'Name', type: 'text' },
        { name: 'Status', type: 'text' },
        { name: 'Due: date', type: 'date' },
        { name: 'Tags', type: 'multi_select', options: { choices: [{ name: 'red' }, { name: 'blue' }] } },
        { name: 'Done', type: 'checkbox' },
      ],
      rows: [
        ['Write it', 'Open', '2024-01-05', ['red', 'blue'], true],
        ['Read it', 'Done', '2024-01-06', ['red'], false],
        ['Send it', 'Done', '2024-01-06', ['blue'], false],
      ],
    });
  });

  test('reads only the properties of a row as its metadata', async () => {
    const { content } = await readAll(openNotionSource, files);
    expect(content(`${BASE}/Tasks/Write it ${R1}.md`)).toMatchObject({
      metadata: { Status: 'Open', 'Due: date': 'January 5, 2024', Tags: 'red, blue', Done: 'Yes' },
      tags: ['red', 'blue'],
      markdown: 'Note: this is text\n',
    });
    expect(content(`${BASE}/Tasks/Read it ${R2}.md`).markdown).toBe('Text: no property\n');
  });

  test('resolves links', async () => {
    const { source } = await readAll(openNotionSource, files);
    const page = `${BASE} ${A}.md`;
    const link = (href: string, from = page) => linkOf(source, from, href);
    expect(link(`Handbook%20everything%20that%20a%20new%20colleague/Tasks%20${B}.csv`)).toBe(
      `${BASE}/Tasks ${B}_all.csv`,
    );
    expect(link(`Handbook%20everything%20that%20a%20new%20colleague/Tasks%20${B}_all.csv`)).toBe(
      `${BASE}/Tasks ${B}_all.csv`,
    );
    expect(link('Handbook%20everything%20that%20a%20new%20colleague/Untitled.png')).toBe(`${BASE}/Untitled.png`);
    expect(link(`moved/Sub%20page%20${C}.md`)).toBe(`${BASE}/Sub page ${C}.md`);
    expect(link(`https://www.notion.so/team/Sub-page-${C}?pvs=4`, `Team space/Same ${E}.md`)).toBe(
      `${BASE}/Sub page ${C}.md`,
    );
    expect(link(`https://www.notion.so/${id('f')}`)).toBe('outside');
    expect(link('gone.md')).toBe('broken');
  });

  test('is refused without a page, with the export to use', async () => {
    expect(await faultOf(openNotionSource(bundleOf({ 'x.png': 'x' }), {}))).toBe('no_pages');
  });
});

const list = (name: string, kind: string, text: string) =>
  `<div style="display:contents" dir="ltr"><${name} class="${kind}"><li style="list-style-type:disc">${text}</li></${name}></div>`;

const HTML_PAGE = `<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"/><title>Plan</title><style>.x{}</style></head>
<body><article id="aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa" class="page sans"><header><img class="page-cover-image" src="Plan/cover.jpg" style=""/>
<div class="page-header-icon page-header-icon-with-cover"><span class="icon">🎉</span></div><h1 class="page-title">Plan</h1><p class="page-description">About it</p>
<table class="properties"><tbody><tr class="property-row property-row-multi_select"><th><span class="icon property-icon"><svg class="x"></svg></span>Tags</th><td><span class="selected-value select-value-color-red">one</span><span class="selected-value">two</span></td></tr>
<tr class="property-row property-row-checkbox"><th>Ready</th><td><div class="checkbox checkbox-on"></div></td></tr>
<tr class="property-row property-row-created_time"><th>Created time</th><td><time>@January 5, 2024 3:00 PM</time></td></tr></tbody></table></header>
<div class="page-body"><p class="">Text with <mark class="highlight-red">colour</mark> and <mark class="highlight-blue_background">ground</mark></p>
${list('ul', 'bulleted-list', 'first')}${list('ul', 'bulleted-list', `second${list('ul', 'bulleted-list', 'inner')}`)}
<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span class="to-do-children-checked">bought</span></li></ul>
<ul class="toggle"><li><details open=""><summary>Fold</summary><p>hidden</p></details></li></ul>
<figure class="block-color-gray_background callout" style="white-space:pre-wrap;display:flex"><div style="font-size:1.5em"><span class="icon">⚠️</span></div><div style="width:100%"><p>Beware</p></div></figure>
<figure class="equation"><style>@import url('katex')</style><div class="equation-container"><span class="katex-display"><span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>E</mi></mrow><annotation encoding="application/x-tex">E=mc^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">E</span></span></span></div></figure>
<figure class="image"><a href="Plan/shot.png"><img style="width:10px" src="Plan/shot.png"/></a><figcaption>Caption</figcaption></figure>
<figure class="link-to-page"><a href="Plan/Child%20${C}.html"><span class="icon">📄</span>Child</a></figure>
<figure><a href="https://x.example/" class="bookmark source"><div class="bookmark-info"><div class="bookmark-text"><div class="bookmark-title">Site</div><div class="bookmark-description">What it is</div></div><div class="bookmark-href"><img src="https://x.example/i.ico" class="icon bookmark-icon"/>https://x.example/</div></div></a></figure>
<pre class="code"><code class="language-JavaScript" style="white-space:pre-wrap">let a = 1;
let b;</code></pre>
<nav class="block-color-gray table_of_contents"><a href="#x">Toc</a></nav></div></article></body></html>`;

describe('an export of Notion as HTML', () => {
  const html = {
    'index.html': '<html><body><a href="Plan.html">Plan</a></body></html>',
    [`Plan ${A}.html`]: HTML_PAGE,
    'Plan/cover.jpg': Buffer.from([1]),
    'Plan/shot.png': Buffer.from([2]),
    [`Plan/Child ${C}.html`]:
      '<article><header><h1 class="page-title">Child</h1></header><div class="page-body"><p>c</p></div></article>',
    [`Plan/Db ${B}.html`]:
      '<article><header><h1 class="page-title">Database with a long name</h1><p class="page-description">Facts</p></header><div class="page-body"><table class="collection-content"></table></div></article>',
    [`Plan/Db ${B}.csv`]: 'Name\nx\n',
  };

  test('keeps the meaning of its elements', async () => {
    const { source, content } = await readAll(openNotionSource, html);
    expect(treeOf(source)).toEqual([
      'document Plan',
      '  document Child',
      '  table Db',
      '  file cover.jpg',
      '  file shot.png',
    ]);
    const { html: page = '', ...facts } = content(`Plan ${A}.html`);
    expect(facts).toMatchObject({
      title: 'Plan',
      icon: '🎉',
      description: 'About it',
      tags: ['one', 'two'],
      metadata: { Tags: ['one', 'two'], Ready: 'Yes' },
      createdAt: '2024-01-05T15:00:00.000Z',
      warnings: [],
    });
    const flat = page.replace(/\n/g, '');
    expect(flat).toContain('<p><img src="Plan/cover.jpg"></p>');
    expect(flat).toContain('<p>Text with colour and <mark>ground</mark></p>');
    expect(flat).toContain('<ul><li>first</li><li>second<ul><li>inner</li></ul></li></ul>');
    expect(flat).toContain('<ul><li><input type="checkbox" checked=""> <span>bought</span>'.replace(/<\/?span>/g, ''));
    expect(flat).toContain('<details><summary>Fold</summary><p>hidden</p></details>');
    expect(flat).toContain('<aside data-callout="warning"><p>⚠️ Beware</p></aside>');
    expect(flat).toContain('<div data-math="block">E=mc^2</div>');
    expect(flat).toContain('<figure><img src="Plan/shot.png"><figcaption>Caption</figcaption></figure>');
    expect(flat).toContain('<p><a href="https://x.example/">Site</a></p><p>What it is</p>');
    expect(page).toContain('<pre><code class="language-JavaScript">let a = 1;\nlet b;</code></pre>');
    expect(flat).not.toMatch(/Toc|@import/);
    expect(content(`Plan/Db ${B}.csv`)).toMatchObject({ title: 'Database with a long name', description: 'Facts' });
    expect(linkOf(source, `Plan ${A}.html`, `Plan/Child%20${C}.html`)).toBe(`Plan/Child ${C}.html`);
    expect(linkOf(source, `Plan ${A}.html`, `Plan/Db%20${B}.html`)).toBe(`Plan/Db ${B}.csv`);
  });

  test('keeps every word of its text', async () => {
    const { content } = await readAll(openNotionSource, html);
    const body = /<div class="page-body">([\s\S]*)<\/article>/.exec(HTML_PAGE)?.[1] ?? '';
    const lost = new Set(wordsOf(body));
    for (const word of wordsOf(content(`Plan ${A}.html`).html ?? '')) lost.delete(word);
    // The table of contents, the rendered formula, and the bookmark's URL, which its link contains.
    expect([...lost]).toEqual(['E', 'https://x.example/', 'Toc']);
  });
});
