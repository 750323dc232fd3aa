import { describe, expect, test } from '@jest/globals';
import { redirectHtml } from '../../src/imports/domain/html-links.js';
import { redirectMarkdown } from '../../src/imports/domain/markdown-links.js';
import { resolverOf } from '../../src/imports/sources/markdown/links.js';
import { itemsOf } from '../../src/imports/sources/markdown/tree.js';

const shout = (href: string) => (/^(https?:|mailto:|#)/.test(href) ? undefined : `<${href.toUpperCase()}>`);
const redirected = (text: string) => redirectMarkdown(text, shout);

describe('links of Markdown', () => {
  test.each([
    ['[a](b.md)', '[a](<B.MD>)'],
    ['![a](b.png "T") and [c](d.md#e \'f\')', '![a](<B.PNG> "T") and [c](<D.MD#E> \'f\')'],
    ['[a](<b c.md>)', '[a](<<B C.MD>>)'],
    ['[![i](x.png)](y.md)', '[![i](<X.PNG>)](<Y.MD>)'],
    ['`[a](b.md)` [a](b.md)', '`[a](b.md)` [a](<B.MD>)'],
    ['```\n[a](b.md)\n```\n\n[a](b.md)', '```\n[a](b.md)\n```\n\n[a](<B.MD>)'],
    ['    [a](b.md)\n\n[a](b.md)', '    [a](b.md)\n\n[a](<B.MD>)'],
    ['[a][r]\n\n[r]: b.md "T"\n', '[a][r]\n\n[r]: <B.MD> "T"\n'],
    ['```\n[r]: b.md\n```\n', '```\n[r]: b.md\n```\n'],
    ['> - [a](b.md)\n>   [c](d.md)', '> - [a](<B.MD>)\n>   [c](<D.MD>)'],
    [
      '| a | b |\n|---|---|\n| [x](y.md) | `[x](z.md)` [x](z.md) |',
      '| a | b |\n|---|---|\n| [x](<Y.MD>) | `[x](z.md)` [x](<Z.MD>) |',
    ],
    [
      '<img alt="b.md" src="b.png">\n\nx <a href=\'c.md\'>c</a>',
      '<img alt="b.md" src="<B.PNG>">\n\nx <a href=\'<C.MD>\'>c</a>',
    ],
    ['<!-- [a](b.md) <img src="b.png"> -->', '<!-- [a](b.md) <img src="b.png"> -->'],
    ['[a](https://x.test/b.md) <https://x.test> [b](mailto:a@b.c) [c](#d)', undefined],
    ['\\[a](b.md) [a\\](b.md) [a](b\\_c.md)', '\\[a](b.md) [a\\](b.md) [a](<B_C.MD>)'],
    ['# [a](b.md)\r\n\r\ntext [a](b.md)\r\n', '# [a](<B.MD>)\r\n\r\ntext [a](<B.MD>)\r\n'],
    ['[^1] [a](b.md)\n\n[^1]: see c.md\n', '[^1] [a](<B.MD>)\n\n[^1]: see c.md\n'],
    ['[a]() [b](c.md)', '[a]() [b](<C.MD>)'],
  ])('%j', (text, expected) => {
    expect(redirected(text)).toBe(expected ?? text);
  });

  test('skip only front matter', () => {
    const text = '---\ntitle: "[a](b.md)"\n---\n[a](b.md)';
    expect(redirectMarkdown(text, shout, { from: text.lastIndexOf('[a]') })).toBe(
      '---\ntitle: "[a](b.md)"\n---\n[a](<B.MD>)',
    );
  });
});

describe('wiki links of Markdown', () => {
  const known = (href: string) => (/gone/.test(href) ? undefined : href.replace(/^\[\[[^#]*/, 'resource:1'));
  test.each([
    ['[[page]] and [[folder/page|the page]]', '[page](resource:1) and [the page](resource:1)'],
    ['[[page#A (b) c]] [[#Top]]', '[page > A (b) c](resource:1#A%20%28b%29%20c) [Top](resource:1#Top)'],
    [
      '![[a.png]] ![[b/a.png|300]] ![[a.png|Words]]',
      '![a.png](resource:1) ![b/a.png](resource:1) ![Words](resource:1)',
    ],
    ['![[page]] ![[a.pdf#page=2|Plan]]', '[page](resource:1) [Plan](resource:1#page%3D2)'],
    ['[[page|a *b* [c]]', '[[page|a *b* [c]]'],
    ['[[page|a *b* c_d]]', '[a \\*b\\* c\\_d](resource:1)'],
    [
      '`[[page]]` [[page]]\n\n    [[page]]\n\n```\n[[page]]\n```',
      '`[[page]]` [page](resource:1)\n\n    [[page]]\n\n```\n[[page]]\n```',
    ],
    ['| a |\n|---|\n| [[page\\|b]] [[page]] |', '| a |\n|---|\n| [b](resource:1) [page](resource:1) |'],
    ['> - [[page]]', '> - [page](resource:1)'],
    ['\\[[page]] [[gone]] ![[gone.png]]', '\\[[page]] [[gone]] ![[gone.png]]'],
    ['[x [[page]]](gone.md) [![[a.png]]](gone.md)', '[x [page](resource:1)](gone.md) [![a.png](resource:1)](gone.md)'],
  ])('%j', (text, expected) => {
    expect(redirectMarkdown(text, known, { wikiLinks: true })).toBe(expected);
    expect(redirectMarkdown(text, known)).toBe(text);
  });
});

test('finds links of HTML in any context', () => {
  const html = '<A HREF="a.html">x</A><script>"<a href=b>"</script><img srcset="x" src=c.png><a href="d&amp;e">';
  expect(redirectHtml(html, shout)).toBe(
    '<A HREF="<A.HTML>">x</A><script>"<a href=b>"</script><img srcset="x" src=<C.PNG>><a href="<D&E>">',
  );
});

test('resolves links to pages, folders and files as web sites and readers do', () => {
  const paths = [
    'top/index.md',
    'top/a/README.md',
    'top/a/b c.md',
    'top/a/x.png',
    'top/d/e.md',
    'top/d/Über.md',
    'top/e/x.md',
    'top/e.md',
  ];
  const { items, indexes } = itemsOf(paths.map((path) => ({ path, sizeBytes: 1 })));
  const resolve = resolverOf(items, indexes);
  const from = items.find(({ path }) => path === 'top/a/README.md') as (typeof items)[number];
  const leads = (href: string) => resolve(from, href);
  for (const [href, item] of [
    ['b%20c.md', 'top/a/b c.md'],
    ['b c', 'top/a/b c.md'],
    ['b c.html', 'top/a/b c.md'],
    ['./x.png?raw=1', 'top/a/x.png'],
    ['..', 'top/index.md'],
    ['../d/', 'top/d'],
    ['../D/E.MD', 'top/d/e.md'],
    ['/a', 'top/a/README.md'],
    ['/top/d/e.md', 'top/d/e.md'],
    ['../d/U%CC%88ber.md', 'top/d/Über.md'],
    ['.', 'top/a/README.md'],
    ['../e/', 'top/e.md'],
  ] as const) {
    expect([href, leads(href)]).toEqual([href, { item }]);
  }
  for (const href of ['nowhere.md', '../../../x.md', '/nowhere', '%zz']) expect(leads(href)).toEqual({ broken: true });
  for (const href of ['https://a.test', '//a.test', 'mailto:a@b.c', '']) expect(leads(href)).toEqual({ outside: true });
});

test('resolves names as Obsidian does', () => {
  const paths = [
    'vault/a/Page.md',
    'vault/b/c/Page.md',
    'vault/b/c/Other note.md',
    'vault/x/deep/pic.png',
    'vault/Top.md',
    'vault/pic.md/y.md',
  ];
  const { items, indexes } = itemsOf(paths.map((path) => ({ path, sizeBytes: 1 })));
  const resolve = resolverOf(items, indexes);
  const from = items.find(({ path }) => path === 'vault/b/c/Other note.md') as (typeof items)[number];
  for (const [name, item] of [
    ['Page', 'vault/b/c/Page.md'],
    ['page.md', 'vault/b/c/Page.md'],
    ['a/page', 'vault/a/Page.md'],
    ['b/c/page', 'vault/b/c/Page.md'],
    ['../../a/Page', 'vault/a/Page.md'],
    ['top', 'vault/Top.md'],
    ['PIC.png', 'vault/x/deep/pic.png'],
    ['deep/pic.png', 'vault/x/deep/pic.png'],
    ['', 'vault/b/c/Other note.md'],
  ] as const) {
    expect([name, resolve(from, `[[${name}`)]).toEqual([name, { item }]);
  }
  for (const name of ['nowhere', './Top', 'eep/pic.png', 'z/page'])
    expect(resolve(from, `[[${name}`)).toEqual({ broken: true });
  expect(resolve(from, '[[resource:1')).toEqual({ outside: true });
});

test('resolves paths that differ only in case exactly, and prefers a page to a folder', () => {
  const paths = ['a/Page.md', 'a/page.md', 'a/PAGE.md', 'a/b/x.md', 'a/b', 'a/C/x.md', 'a/c.md'];
  const { items, indexes } = itemsOf(paths.map((path) => ({ path, sizeBytes: 1 })));
  const resolve = resolverOf(items, indexes);
  const from = items.find(({ path }) => path === 'a/Page.md') as (typeof items)[number];
  for (const [href, item] of [
    ['Page.md', 'a/Page.md'],
    ['page.md', 'a/page.md'],
    ['PAGE.md', 'a/PAGE.md'],
    ['pAGE.md', 'a/PAGE.md'],
    ['Page', 'a/Page.md'],
    ['b', 'a/b'],
    ['c', 'a/c.md'],
    ['C/x', 'a/C/x.md'],
  ] as const) {
    expect([href, resolve(from, href)]).toEqual([href, { item }]);
  }
});
