import { describe, expect, test } from '@jest/globals';
import { parseMarkdown, readDoc, toHtml, toJson, toMarkdown } from '../../src/documents/index.js';
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
