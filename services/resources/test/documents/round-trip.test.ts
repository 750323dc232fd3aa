import { describe, expect, test } from '@jest/globals';
import { type Doc, parseHtml, parseMarkdown, readDoc, toHtml, toJson, toMarkdown } from '../../src/documents/index.js';
import { EXAMPLES, readHandbook } from './corpus.js';

/** Returns Markdown after a round trip through JSON, as the API sends and accepts it. */
function throughJson(markdown: string): string {
  const { doc, faults } = readDoc(JSON.parse(JSON.stringify(toJson(parseMarkdown(markdown)))));
  expect(faults).toEqual([]);
  return toMarkdown(doc);
}

/** Returns what changes when Markdown is parsed and written again. */
function changes(markdown: string): string[] {
  const doc = parseMarkdown(markdown);
  const normal = toMarkdown(doc);
  const again = parseMarkdown(normal);
  return [
    toMarkdown(again) === normal ? '' : 'written twice it differs',
    throughJson(normal) === normal ? '' : 'through JSON it differs',
    toHtml(again).html === toHtml(doc).html ? '' : 'it looks different',
    JSON.stringify(toJson(again)) === JSON.stringify(toJson(doc)) ? '' : 'the blocks differ',
  ].filter((change) => change !== '');
}

const handbook = readHandbook();
if (handbook === undefined)
  console.log('handbook.zip is not there (COMMONPLACE_TEST_DATA): its round trip is skipped.');

describe('a byte order mark', () => {
  test('at the beginning is no part of the first line', () => {
    for (const text of ['# T\n', '---\ntitle: a\n---\n\nb\n', '- a\n'])
      expect(parseMarkdown(`\uFEFF${text}`)).toEqual(parseMarkdown(text));
  });

  test('in a text stays there', () => {
    const doc = {
      type: 'doc',
      content: [{ type: 'paragraph', content: [{ type: 'text', text: '\uFEFF# T' }] }],
    } as Doc;
    expect(parseMarkdown(toMarkdown(doc))).toEqual(doc);
  });
});

describe('a round trip of Markdown', () => {
  test('keeps the meaning of all examples of the specifications', () => {
    const changed = EXAMPLES.map(([name, markdown]) => [name, markdown, changes(markdown)] as const);
    expect(EXAMPLES.length).toBeGreaterThan(1300);
    expect(changed.filter(([, , found]) => found.length > 0)).toEqual([]);
  });

  (handbook === undefined ? test.skip : test)(
    'keeps the meaning of all pages of the handbook',
    () => {
      const changed = (handbook ?? []).map(([name, markdown]) => [name, changes(markdown)] as const);
      expect(handbook).toHaveLength(883);
      expect(changed.filter(([, found]) => found.length > 0)).toEqual([]);
    },
    300_000,
  );

  test.each([
    ['marks', 'a **b** *c* ~~d~~ `e` <u>f</u> <mark>g</mark> <sub>h</sub> <sup>i</sup>\n'],
    [
      'links',
      '[a](https://a.example "t") [[Page]] [[Page|label]] [b](resource:0190c2a4-0000-7000-8000-000000000000)\n',
    ],
    ['a mention', 'Ask @[Ann Lee](user:0190c2a4-0000-7000-8000-000000000000) today\n'],
    ['formulas', 'Inline $x^2$ costs $5 and $6.\n\n$$\n\\sum_i x_i\n$$\n'],
    ['tasks', '- [ ] open\n- [x] done\n'],
    ['a callout', '> [!WARNING]\n> Mind the gap\n>\n> - a\n'],
    ['a table', '| a | b |\n| :-- | --: |\n| 1 | x \\| y |\n'],
    ['footnotes', 'See[^1]\n\n[^1]: The note\n\n    with two paragraphs\n'],
    ['code', '```ts title="a"\nconst a = 1;\n```\n'],
    ['a directive', ':::embed{url="https://a.example/x" width=300}\n:::\n'],
    [
      'nested directives',
      ':::columns\n:::column{width=0.5}\n# A\n:::\n\n:::column\n- b\n\n  ```\n  :::\n  ```\n:::\n:::\n',
    ],
    ['a toggle', ':::toggle{id="t1" summary="More \\"of\\" it"}\nInside\n:::\n'],
    ['a known block with more attributes', ':::paragraph{align="center"}\ntext\n:::\n'],
    ['an unknown block', ':::chart{kind="bar" data={"a":[1,2]}}\ntext\n:::\n'],
    ['front matter', '---\ntitle: A\n---\n\ntext\n'],
    ['HTML', '<div>\n\na <kbd>b</kbd>\n\n</div>\n'],
    ['signs that mean nothing', '\\# no heading 1\\. \\*a\\* a_b a\\_ \\[x\\] &amp;amp; C:\\\\dir\n'],
  ])('keeps %s as it is written', (_, markdown) => {
    const once = toMarkdown(parseMarkdown(markdown));
    expect(toMarkdown(parseMarkdown(once))).toBe(once);
    expect(changes(markdown)).toEqual([]);
    if (!markdown.startsWith('\\#')) expect(once).toBe(markdown);
  });
});

/** Returns Markdown after a round trip through the HTML that the API returns. */
const throughHtml = (markdown: string): string =>
  toMarkdown(parseHtml(toHtml(parseMarkdown(markdown), { restorable: true }).html));

describe('a round trip of Markdown through HTML', () => {
  test.each([
    ['headings', '# A *b*\n\n## C\n'],
    ['marks', 'a **b** *c* ~~d~~ `e` <u>f</u> <mark>g</mark> <sub>h</sub> <sup>i</sup> **`j`**\n'],
    [
      'a mark with attributes',
      'a <span data-mark="{&quot;type&quot;:&quot;highlight&quot;,&quot;attrs&quot;:{&quot;color&quot;:&quot;red&quot;}}">b</span>\n',
    ],
    ['a mark of another type', 'a <span data-mark="{&quot;type&quot;:&quot;small&quot;}">b</span>\n'],
    ['a comment mark', 'a <span data-comment="c1">b</span>\n'],
    [
      'links',
      '[a](https://a.example "t") [[Page]] [[Page|label]] [b](resource:0190c2a4-0000-7000-8000-000000000000)\n',
    ],
    ['a link to a person', '[a](user:0190c2a4-0000-7000-8000-000000000000)\n'],
    ['a mention', 'Ask @[Ann Lee](user:0190c2a4-0000-7000-8000-000000000000) today\n'],
    ['formulas', 'Inline $x^2$ costs $5 and $6.\n\n$$\n\\sum_i x_i\n$$\n'],
    ['lists', '- a\n  - b\n- c\n\n3. d\n4. e\n'],
    ['a loose list', '- a\n\n- b\n'],
    ['tasks', '- [ ] open\n- [x] done\n'],
    ['quotes and callouts', '> a\n\n> [!WARNING]\n> Mind the gap\n>\n> - a\n'],
    ['a table', '| a | b |\n| :-- | --: |\n| 1 | x \\| y |\n'],
    ['footnotes', 'See[^1] and[^note]\n\n[^1]: The note\n\n    with two paragraphs\n\n[^note]: Another[^1]\n'],
    ['code', '```ts title="a"\nconst a = 1;\n```\n'],
    ['images', '![a](https://a.example/b.png "t")\n\nc ![d](resource:0190c2a4-0000-7000-8000-000000000000)\n'],
    ['an image with a size', ':::image{width=300 height="50%"}\n![a](https://a.example/b.png)\n:::\n'],
    ['dividers', 'a\n\n---\n\nb\n'],
    ['an embed', ':::embed{url="https://a.example/x" width=300}\n:::\n'],
    ['a file', ':::file{resource_id="0190c2a4-0000-7000-8000-000000000000" name="a.pdf"}\n:::\n'],
    ['a synced block', ':::synced_block{source="x"}\na\n:::\n'],
    ['columns', ':::columns\n:::column{width=0.5}\n# A\n:::\n\n:::column\n- b\n\n  ```\n  :::\n  ```\n:::\n:::\n'],
    ['a toggle', ':::toggle{summary="More \\"of\\" it"}\nInside\n:::\n'],
    [
      'known blocks with more attributes',
      ':::paragraph{align="center"}\ntext\n:::\n\n:::heading{color="red"}\n## a\n:::\n\n:::divider{style="bold"}\n---\n:::\n',
    ],
    ['a table without a header row', ':::table{header=false}\n| a |\n| --- |\n| b |\n:::\n'],
    ['an unknown block', ':::chart{kind="bar" data={"a":[1,2]}}\ntext\n:::\n'],
    ['an unknown block with fields of its own', ':::block{raw={"type":"my block","attrs":{"a b":1}}}\n:::\n'],
    ['front matter', '---\ntitle: A\n---\n\ntext\n'],
    [
      'HTML that the model has no blocks for',
      '<video src="https://a.example/v.mp4">\n</video>\n\n<!-- a note -->\n\nb <abbr title="c">d</abbr> <!-- e -->\n',
    ],
  ])('keeps %s', (_, markdown) => {
    const once = toMarkdown(parseMarkdown(markdown));
    expect(throughHtml(once)).toBe(once);
  });

  test('keeps what is written around restored blocks', () => {
    const html = toHtml(parseMarkdown('See[^1]\n\n:::embed{url="https://a.example"}\n:::\n\n[^1]: f\n'), {
      restorable: true,
    }).html;
    expect(toMarkdown(parseHtml(html.replace('See', 'Look').replace('<p>f</p>', '<p>g</p>')))).toBe(
      'Look[^1]\n\n:::embed{url="https://a.example"}\n:::\n\n[^1]: g\n',
    );
  });

  test('reads attributes that nothing of this product has written without trusting them', () => {
    for (const data of [
      '{',
      '[]',
      '{"type":"doc"}',
      '{"type":"table_row"}',
      '{"type":"text","text":"x"}',
      '{"type":1}',
    ]) {
      const value = data.replaceAll('"', '&quot;');
      expect(toMarkdown(parseHtml(`<div data-node="${value}"><p data-attrs="${value}">a</p></div>`))).toMatch(/a\n/);
    }
  });
});
