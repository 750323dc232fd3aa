import { effort } from '@commonplace/kit/testing';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  parseHtml,
  parseMarkdown,
  parseText,
  readDoc,
  toHtml,
  toJson,
  toMarkdown,
  toText,
} from '../../src/documents/index.js';

const PIECES = [
  ...[
    '*',
    '**',
    '_',
    '__',
    '~~',
    '`',
    '``',
    '[',
    ']',
    '](',
    ')',
    '![',
    '<',
    '>',
    '&',
    '&amp;',
    '&#32;',
    '&nbsp;',
    '\\',
    '$',
    '$$',
  ],
  ...[
    '\n',
    '\n\n',
    '\n    ',
    '\n\t',
    ' ',
    '  \n',
    '# ',
    '## ',
    '- ',
    '* ',
    '+ ',
    '1. ',
    '2) ',
    '> ',
    '>',
    '```',
    '~~~',
    '---',
    '===',
    '|',
  ],
  ...[
    '| a | b |\n| - | - |\n',
    '- [ ] ',
    '[x] ',
    ':::',
    ':::note{a=1}\n',
    ':::\n',
    '[^1]',
    '[^1]: ',
    '[[',
    ']]',
    '[[a|b]]',
    '@[a](user:u)',
  ],
  ...[
    '<b>',
    '</b>',
    '<u>',
    '</u>',
    '<div>',
    '</div>',
    '<br>',
    '<!--',
    '-->',
    '<script>',
    '<img src=x onerror=y>',
    '> [!NOTE]\n',
    '[!TIP]',
  ],
  ...[
    'javascript:',
    'https://a.example',
    'a@b.example',
    '[a](b "c")',
    '[a]: b\n',
    'a',
    'b',
    '1',
    'é',
    '😀',
    '\u00a0',
    '\t',
    '"',
    '!',
    ':',
    '.',
  ],
];

const markdown = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...PIECES) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
    ),
    {
      maxLength: 40,
    },
  )
  .map((pieces) => pieces.join(''));

/** Runs the same cases every time; the environment may set another seed and more cases. */
const RUNS = {
  numRuns: effort(250),
  seed: Number(process.env.COMMONPLACE_TEST_SEED ?? 1),
};

describe('any Markdown', () => {
  test('means the same after a round trip, through JSON too', () => {
    fc.assert(
      fc.property(markdown, (text) => {
        const doc = parseMarkdown(text);
        const normal = toMarkdown(doc);
        const again = parseMarkdown(normal);
        expect(toMarkdown(again)).toBe(normal);
        expect(toHtml(again).html).toBe(toHtml(doc).html);
        const { doc: read, faults } = readDoc(JSON.parse(JSON.stringify(toJson(again))));
        expect(faults).toEqual([]);
        expect(toMarkdown(read)).toBe(normal);
      }),
      RUNS,
    );
  }, 120_000);

  test('makes HTML without scripts, handlers and script addresses, from HTML too', () => {
    const dangerous =
      /<script|<iframe|<style|<[a-z][^>]*\son\w+\s*=|(?:href|src)\s*=\s*"?\s*(?:javascript|vbscript|data:text)/i;
    fc.assert(
      fc.property(markdown, (text) => {
        expect(toHtml(parseMarkdown(text)).html).not.toMatch(dangerous);
        const read = parseHtml(text);
        expect(toHtml(read).html).not.toMatch(dangerous);
        toText(parseText(text));
      }),
      RUNS,
    );
  }, 120_000);
});

const words = fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'grapheme', maxLength: 6 }));
const mark = fc.constantFrom(
  ...['bold', 'italic', 'strike', 'code', 'underline', 'highlight', 'sub', 'sup'].map((type) => ({ type })),
  { type: 'link', attrs: { href: 'a b(' } },
  { type: 'comment', attrs: { id: 'c"1' } },
);
const inline = fc.oneof(
  fc.record({ type: fc.constant('text'), text: words, marks: fc.array(mark, { maxLength: 3 }) }),
  fc.constantFrom(
    { type: 'hard_break' },
    { type: 'math_inline', attrs: { tex: 'x' } },
    { type: 'mention', attrs: { user_id: 'u', name: 'A]' } },
    { type: 'image', attrs: { src: 'a b', alt: '[c]' } },
    { type: 'wiki_link', attrs: { target: 'p' } },
    { type: 'html', attrs: { html: '<div>' } },
  ),
);
const text = fc.array(inline, { maxLength: 5 });
const { block } = fc.letrec((tie) => {
  const blocks = fc.array(tie('block'), { maxLength: 3 });
  const of = (type: string, content: fc.Arbitrary<unknown>) => fc.record({ type: fc.constant(type), content });
  const items = fc.array(of('list_item', blocks), { minLength: 1, maxLength: 3 });
  return {
    block: fc.oneof(
      { depthSize: 'small' },
      of('paragraph', text),
      fc.record({
        type: fc.constant('heading'),
        attrs: fc.record({ level: fc.integer({ min: 1, max: 6 }) }),
        content: text,
      }),
      fc.constantFrom(
        { type: 'divider' },
        { type: 'math', attrs: { tex: 'a\n$$' } },
        { type: 'html', attrs: { html: '<p>\n\nx' } },
      ),
      fc.record({
        type: fc.constant('code_block'),
        content: words.map((word) => [{ type: 'text', text: `x${word}` }]),
      }),
      of('blockquote', blocks),
      fc.record({ type: fc.constant('callout'), attrs: fc.constant({ kind: 'note' }), content: blocks }),
      fc.record({ type: fc.constant('toggle'), attrs: fc.record({ summary: words }), content: blocks }),
      fc.record({ type: fc.constant('bullet_list'), attrs: fc.record({ tight: fc.boolean() }), content: items }),
      of('task_list', items),
      fc.record({
        type: fc.constant('ordered_list'),
        attrs: fc.record({ start: fc.integer({ min: 0, max: 12 }) }),
        content: items,
      }),
      of(
        'table',
        fc.array(of('table_row', fc.array(of('table_cell', text), { minLength: 1, maxLength: 3 })), {
          minLength: 1,
          maxLength: 3,
        }),
      ),
    ),
  };
});

describe('any document JSON', () => {
  test('has Markdown that parses back to itself with the same words', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 4 }), (content) => {
        const { doc, faults } = readDoc({ type: 'doc', content });
        expect(faults).toEqual([]);
        const normal = toMarkdown(doc);
        expect(toMarkdown(parseMarkdown(normal))).toBe(normal);
        expect(toMarkdown(readDoc(toJson(parseMarkdown(normal))).doc)).toBe(normal);
        toHtml(doc);
      }),
      RUNS,
    );
  }, 120_000);
});
