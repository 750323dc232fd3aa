import { describe, expect, test } from '@jest/globals';
import { openHtmlSource } from '../../../src/imports/sources/html/source.js';
import { splitting } from '../../../src/imports/sources/sections/index.js';
import { bundleOf, faultOf, linkOf, readAll, treeOf, wordsOf } from './bundle.js';

const PAGE = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Guide – Site</title>
<meta name="author" content="Ada Lovelace"><meta name="description" content="How to begin">
<meta name="keywords" content="start, first steps"><meta property="article:published_time" content="2024-03-01T10:00:00Z">
<style>.x{color:red}</style></head><body><nav>Menu</nav><main><h1>Guide</h1>
<p>Hello <b>bold</b> <span style="font-weight:700">span</span> &amp; <code>a &lt; b</code><br>next</p>
<script>alert(1)</script><ul><li>One<ul><li>Two</li></ul></li></ul>
<pre class="language-js"><code>let a = 1;
if (a &lt; 2) {}</code></pre>
<table><tr><th style="text-align:right">A</th><td colspan="2">B</td></tr></table>
<iframe src="https://video.example/1" title="A film"></iframe>
<img data-src="pics/a%20b.png" alt="A picture"><details><summary>More</summary><p>Inside</p></details>
</main><footer>Foot</footer></body></html>`;

describe('HTML page', () => {
  test('returns its content and metadata', async () => {
    const { source, content } = await readAll(openHtmlSource, { 'guide.html': PAGE });
    expect(treeOf(source)).toEqual(['document guide']);
    const { html = '', ...facts } = content('guide.html');
    expect(facts).toMatchObject({
      title: 'Guide',
      author: 'Ada Lovelace',
      description: 'How to begin',
      createdAt: '2024-03-01T10:00:00.000Z',
      metadata: { author: 'Ada Lovelace', keywords: ['start', 'first steps'], language: 'en' },
      warnings: [],
    });
    expect(html).toContain('<p>Hello <b>bold</b> <strong>span</strong> &amp; <code>a &lt; b</code><br>next</p>');
    expect(html).toContain('<ul><li>One<ul><li>Two</li></ul></li></ul>');
    expect(html).toContain('<pre><code class="language-js">let a = 1;\nif (a &lt; 2) {}</code></pre>');
    expect(html).toContain('<th align="right">A</th><td colspan="2">B</td>');
    expect(html).toContain('<a href="https://video.example/1">A film</a>');
    expect(html).toContain('<img src="pics/a%20b.png" alt="A picture">');
    expect(html).not.toMatch(/alert|Menu|Foot|color:red/);
  });

  test.each([
    ['utf-16le', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<p>Grüße 東京</p>', 'utf16le')])],
    ['a mark', Buffer.from('\ufeff<p>Grüße 東京</p>')],
    [
      'shift_jis',
      Buffer.concat([
        Buffer.from('<meta charset="shift_jis"><p>'),
        Buffer.from([0x93, 0x8c, 0x8b, 0x9e]),
        Buffer.from('</p>'),
      ]),
    ],
    [
      'windows-1252',
      Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>Grüße</p>', 'latin1'),
    ],
  ])('is read in its encoding: %s', async (_, page) => {
    const { content } = await readAll(openHtmlSource, { 'a.html': page });
    expect(content('a.html').html).toMatch(/Grüße|東京/);
  });

  test('is read regardless of its extension, and named like the file', async () => {
    const { source, content } = await readAll(openHtmlSource, { upload: '<p>x</p>' }, { fileName: 'My page.html' });
    expect(treeOf(source)).toEqual(['document upload']);
    expect(content('upload').title).toBe('My page');
  });

  test('reports what could not be imported', async () => {
    const image = `data:image/png;base64,${'A'.repeat(40_000)}`;
    const { content } = await readAll(openHtmlSource, {
      'a.html': `<p>x<img src="${image}" alt="big"><svg><text>drawn</text></svg><math><mi>y</mi></math></p><canvas></canvas>`,
    });
    const { html, warnings } = content('a.html');
    expect(html).toBe('<p>xbigdrawny</p>');
    expect(warnings).toHaveLength(3);
  });

  test('keeps formulas with TeX', async () => {
    const { content } = await readAll(openHtmlSource, {
      'a.html':
        '<p><math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math></p>',
    });
    expect(content('a.html').html).toBe('<p><span data-math="inline">x^2</span></p>');
  });

  test('is split at several top headings when requested', async () => {
    const page = '<title>Book</title><p>Before</p><h1>One</h1><p>1</p><div><h1>Two</h1><p>2</p></div>';
    const { source, content } = await readAll(splitting(openHtmlSource), { 'b.html': page }, { splitHeadings: true });
    expect(treeOf(source)).toEqual(['document b', '  document One', '  document Two']);
    expect(content('b.html')).toMatchObject({ title: 'Book', html: '<p>Before</p>' });
    expect(content('b.html#1')).toMatchObject({ title: 'One', html: '<p>1</p>' });
    expect(content('b.html#2')).toMatchObject({ title: 'Two', html: '<p>2</p>' });
  });
});

describe('tree of pages', () => {
  const files = {
    'index.html': '<title>Home</title><p><a href="guide/">Guide</a></p>',
    'guide/index.html': '<title>Guide</title><a href="../faq.html#a">FAQ</a>',
    'guide/first_steps.html': '<h1>First steps</h1>',
    'guide/img/a b.png': Buffer.from([1]),
    'faq.html': '<p>faq</p>',
    'faq_files/x.gif': Buffer.from([2]),
    'css/site.css': 'p{}',
    '__MACOSX/._faq.html': 'x',
    'docs/manual.pdf': Buffer.from('%PDF'),
  };

  test('has folders, index pages with what is below them, and files', async () => {
    const { source } = await readAll(openHtmlSource, files);
    expect(treeOf(source)).toEqual([
      'document index',
      'document guide',
      '  document first steps',
      '  folder img',
      '    file a b.png',
      'document faq',
      '  file x.gif',
      'folder docs',
      '  file manual.pdf',
    ]);
    expect(source.items.filter(({ onlyIfLinked }) => onlyIfLinked).map(({ path }) => path)).toEqual([
      'docs/manual.pdf',
    ]);
    expect(source.skipped.map(({ path, code }) => [path, code])).toEqual([
      ['css/site.css', 'presentation'],
      ['__MACOSX/._faq.html', 'system_file'],
    ]);
  });

  test('resolves links', async () => {
    const { source } = await readAll(openHtmlSource, files);
    const link = (from: string, href: string) => linkOf(source, from, href);
    expect(link('index.html', 'guide/')).toBe('guide/index.html');
    expect(link('index.html', 'guide')).toBe('guide/index.html');
    expect(link('guide/first_steps.html', 'img/a%20b.png')).toBe('guide/img/a b.png');
    expect(link('guide/first_steps.html', '../FAQ.html?x=1')).toBe('faq.html');
    expect(link('guide/first_steps.html', '/faq')).toBe('faq.html');
    expect(link('guide/first_steps.html', '#part')).toBe('guide/first_steps.html');
    expect(link('faq.html', 'https://example.com/faq.html')).toBe('outside');
    expect(link('faq.html', 'mailto:a@b.c')).toBe('outside');
    expect(link('faq.html', 'gone.html')).toBe('broken');
    expect(link('faq.html', '../../../etc/passwd')).toBe('broken');
  });

  test('is refused without a page', async () => {
    expect(await faultOf(openHtmlSource(bundleOf({ 'a.txt': 'x', 'b.png': 'x' }), {}))).toBe('no_pages');
  });
});

test('keeps all words of a page', async () => {
  const words = Array.from({ length: 200 }, (_, at) => `w${at}`);
  const tags = [
    'p',
    'div',
    'section',
    'blockquote',
    'figure',
    'dl',
    'address',
    'custom-part',
    'center',
    'font',
    'label',
    'button',
    'legend',
  ];
  const page = words.map((word, at) => `<${tags[at % tags.length]}>${word}</${tags[at % tags.length]}>`).join('\n');
  const { content } = await readAll(openHtmlSource, { 'a.html': `<body>${page}</body>` });
  expect(wordsOf(content('a.html').html ?? '')).toEqual(words);
});
