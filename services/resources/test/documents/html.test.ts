import { describe, expect, test } from '@jest/globals';
import { commentDerivation, parseHtml, parseMarkdown, readDoc, toHtml, toMarkdown } from '../../src/documents/index.js';

const htmlOf = (markdown: string) => toHtml(parseMarkdown(markdown)).html;

describe('derived HTML', () => {
  test.each([
    ['a script', '<script>alert(1)</script>', 'html_removed'],
    ['a script in text', 'a <script>alert(1)</script> b', 'html_removed'],
    ['an event handler', '<img src="https://a.example/x.png" onerror="alert(1)">', 'html_removed'],
    ['a script address', '[a](javascript:alert(1))', 'unsafe_url'],
    ['a script address with blanks in it', '[a](<java\tscript:alert(1)>)', 'unsafe_url'],
    ['a script address in HTML', '<a href=" &#106;avascript:alert(1)">a</a>', 'unsafe_url'],
    ['a page in an address', '[a](data:text/html;base64,PHNjcmlwdD4=)', 'unsafe_url'],
    ['a drawing in an address', '![a](data:image/svg+xml;base64,PHN2Zz4=)', 'unsafe_url'],
    ['a large image in an address', `![a](data:image/png;base64,${'A'.repeat(40_000)})`, 'unsafe_url'],
    ['a frame', '<iframe src="https://a.example"></iframe>', 'html_removed'],
    ['a style', '<style>body{}</style>\n<p style="color:red">a</p>', 'html_removed'],
    ['a form', '<form action="https://a.example"><button>a</button></form>', 'html_removed'],
    ['a drawing', '<svg><script>alert(1)</script></svg>', 'html_removed'],
  ])('drops %s with a warning', (_, markdown, code) => {
    const { html, warnings } = toHtml(parseMarkdown(markdown));
    expect(html).not.toMatch(/<script|onerror|javascript:|data:|<iframe|<style|<form|<svg|alert\(1\)<\/script/i);
    expect(warnings.map((warning) => warning.code)).toContain(code);
  });

  test('keeps small images in the address and harmless HTML, without a warning', () => {
    const markdown =
      '![a](data:image/png;base64,iVBORw0KGgo=)\n\n<details open><summary>b</summary>c <kbd>d</kbd></details>';
    const { html, warnings } = toHtml(parseMarkdown(markdown));
    expect(html).toContain('src="data:image/png;base64,iVBORw0KGgo="');
    expect(html).toContain('<details open><summary>b</summary>c <kbd>d</kbd></details>');
    expect(warnings).toEqual([]);
  });

  test('does not trust attributes of document JSON either', () => {
    const { doc, faults } = readDoc({
      type: 'doc',
      content: [
        { id: 'x', type: '"><script>alert(1)</script>', attrs: { url: 'javascript:alert(1)' } },
        { type: 'embed', attrs: { url: 'javascript:alert(1)', title: '<b onclick=x>' } },
        { type: 'html', attrs: { html: '<p onclick="x">a</p></div></section>' } },
        { type: 'code_block', attrs: { language: '"><img onerror=x>' } },
      ],
    });
    expect(faults).toEqual([]);
    expect(toHtml(doc).html).not.toMatch(/<script|<[^>]* on\w+=|href="javascript/);
  });

  test('links to the addresses of the caller, and to none without one', () => {
    const doc = parseMarkdown('[a](resource:r1) [b](resource:r2) [[Plan]] ![i](resource:r2) @[Ann](user:u1)');
    const resolve = (target: string) => ({ 'resource:r1': '/p/r1', 'page:Plan': '/p/plan' })[target];
    expect(toHtml(doc, { resolve }).html).toBe(
      '<p><a href="/p/r1" rel="noopener noreferrer">a</a> b <a href="/p/plan" rel="noopener noreferrer">Plan</a> i ' +
        '<span data-mention="u1">@Ann</span></p>\n',
    );
  });

  test('renders the parts of the dialect', () => {
    const html = htmlOf(
      '- [x] a\n\n> [!TIP]\n> b\n\n| c |\n| :-: |\n| d |\n\ne[^1]\n\n[^1]: f\n\n$g$\n\n```js\nh\n```\n',
    );
    for (const part of [
      '<li><input type="checkbox" disabled checked /> a</li>',
      '<aside data-callout="tip">\n<p>b</p>',
      '<th align="center">c</th>',
      '<sup data-footnote="1"><a href="#fn-1" rel="noopener noreferrer">1</a></sup>',
      '<li id="fn-1"><p>f</p>',
      '<span data-math="inline">g</span>',
      '<pre><code class="language-js">h\n</code></pre>',
    ]) {
      expect(html).toContain(part);
    }
  });

  test('is the body of a comment', () => {
    expect(commentDerivation.commentHtml('**a** <img src=x onerror=alert(1)>')).toBe(
      '<p><strong>a</strong> <img src="x" /></p>\n',
    );
  });
});

describe('HTML input', () => {
  test('has no mark for an element whose name every object inherits something for', () => {
    expect(toMarkdown(parseHtml('<p>a <constructor>b</constructor></p>'))).toBe('a b\n');
  });

  test.each([
    ['headings and text', '<h2>A <i>b</i></h2><p>c<br>d</p>e', '## A *b*\n\nc\\\nd\n\ne\n'],
    [
      'lists',
      '<ul><li>a<ul><li>b</li></ul></li><li><p>c</p></li></ul><ol start=3><li>d</ol>',
      '- a\n  - b\n- c\n\n3. d\n',
    ],
    [
      'tasks',
      '<ul><li><input type=checkbox checked> a</li><li><input type=checkbox> b</li></ul>',
      '- [x] a\n- [ ] b\n',
    ],
    [
      'a table',
      '<table><thead><tr><th align=right>a<th>b</thead><tr><td>1<td>2|3</table>',
      '| a | b |\n| --: | --- |\n| 1 | 2\\|3 |\n',
    ],
    ['code', '<pre><code class="language-ts">a &lt; b\n  c\n</code></pre>', '```ts\na < b\n  c\n```\n'],
    [
      'links and images',
      '<a href="https://a.example">a</a> <img src="b.png" alt="c">',
      '[a](https://a.example) ![c](b.png)\n',
    ],
    [
      'quotes and callouts',
      '<blockquote>a</blockquote><aside data-callout=tip><p>b</p></aside>',
      '> a\n\n> [!TIP]\n> b\n',
    ],
    ['blanks', '<p>\n  a\n  <b> b </b>c </p>\n\n', 'a **b** c\n'],
    ['what is no content', '<head><title>t</title></head><script>x</script><style>y</style><!-- z --><p>a</p>', 'a\n'],
    ['tags that do not fit', '</p><td>a<li>b</ul><table>c<tr><td>d</table>', 'a\n\nb\n\nc\n\n| d |\n| --- |\n'],
    ['a toggle', '<details><summary>a</summary><p>b</p></details>', ':::toggle{summary="a"}\nb\n:::\n'],
  ])('is read: %s', (_, html, markdown) => {
    expect(toMarkdown(parseHtml(html))).toBe(markdown);
  });

  test('parses derived HTML', () => {
    const markdown =
      '# A\n\n- a\n- b\n\n> c\n\n| d |\n| --- |\n| e |\n\n`f` **g** $h$ @[Ann](user:u1)\n\n```ts\ni\n```\n\n---\n';
    expect(toMarkdown(parseHtml(htmlOf(markdown)))).toBe(markdown);
  });
});
