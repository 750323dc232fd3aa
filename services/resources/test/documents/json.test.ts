import { describe, expect, test } from '@jest/globals';
import { parseMarkdown, readDoc, toHtml, toJson, toMarkdown, toText } from '../../src/documents/index.js';

const doc = (...content: unknown[]) => ({ type: 'doc', content });
const paragraph = (...content: unknown[]) => ({ type: 'paragraph', content });
const text = (words: string, ...marks: unknown[]) => ({
  type: 'text',
  text: words,
  ...(marks.length > 0 ? { marks } : {}),
});

/** Reads document JSON that must be valid. */
function read(json: unknown) {
  const { doc: result, faults, warnings } = readDoc(json);
  expect(faults).toEqual([]);
  return { result, warnings };
}

describe('document JSON', () => {
  test('reports all faults at once with their places', () => {
    const { faults } = readDoc({
      type: 'page',
      content: [
        'x',
        { content: [] },
        { type: 'heading', attrs: { level: 9 }, content: [{ type: 'text' }] },
        {
          type: 'bullet_list',
          content: [{ type: 'paragraph' }, { type: 'list_item', content: [{ type: 'text', text: 'a' }] }],
        },
        { type: 'image', attrs: {} },
        paragraph(text('a', { type: 'link' }), { type: 'table' }, 5),
        { type: 'paragraph', content: {} },
        { type: 'code_block', id: 'no blanks', content: [{ type: 'mention' }] },
      ],
    });
    expect(faults.map(({ param, code }) => `${param} ${code}`)).toEqual([
      'content.type invalid_value',
      'content.content[0] invalid_type',
      'content.content[1].type missing_field',
      'content.content[2].attrs.level invalid_value',
      'content.content[2].content[0].text invalid_type',
      'content.content[3].content[0].type invalid_value',
      'content.content[3].content[1].content[0].type invalid_value',
      'content.content[4].attrs.src missing_field',
      'content.content[5].content[0].marks[0].attrs.href missing_field',
      'content.content[5].content[1].type invalid_value',
      'content.content[5].content[2] invalid_type',
      'content.content[6].content invalid_type',
      'content.content[7].id invalid_value',
      'content.content[7].content[0] invalid_value',
    ]);
  });

  test('keeps unknown nodes, with a warning, through Markdown too', () => {
    const json = doc(
      { id: 'c1', type: 'chart', attrs: { kind: 'bar' }, version: 2, content: [{ type: 'series', points: [1, 2] }] },
      { type: 'poll', content: [paragraph(text('Which?'))] },
      paragraph(text('a', { type: 'glow', attrs: { by: 3 } }), { type: 'sticker', attrs: { name: '-->' }, size: 4 }),
    );
    const { result, warnings } = read(json);
    expect(toJson(result)).toEqual(json);
    expect(toJson(parseMarkdown(toMarkdown(result)))).toEqual(json);
    expect(warnings.map(({ code }) => code)).toEqual(
      expect.arrayContaining(['unknown_block_type', 'unknown_mark_type', 'unknown_inline_type']),
    );
    expect(toHtml(result).html).toContain('Which?');
  });

  test.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'])(
    'keeps nodes of the unknown type %s, which every object inherits something for',
    (type) => {
      const json = doc(
        { type, content: [paragraph(text('Which?'))] },
        paragraph(text('a', { type }), { type, attrs: { size: 1 } }),
      );
      const { result } = read(json);
      expect(toJson(result)).toEqual(json);
      expect(toJson(parseMarkdown(toMarkdown(result)))).toEqual(json);
      expect(toHtml(result).html).toContain('Which?');
      expect(toHtml(parseMarkdown(`:::${type}\nWhich?\n:::\n`)).html).toContain('Which?');
    },
  );

  test.each([
    ['a blank', 'my block'],
    ['a colon', 'plugin:chart'],
    ['a digit first', '2column'],
    ['an underscore first', '_x'],
    ['a brace', 'a}b'],
    ['a line break', 'a\nb'],
  ])('keeps a block of an unknown type with %s through Markdown', (_, type) => {
    const json = doc({ id: 'c1', type, attrs: { kind: 'bar' }, size: 2, content: [paragraph(text('x'))] }, { type });
    expect(toJson(parseMarkdown(toMarkdown(read(json).result)))).toEqual(json);
  });

  test.each([
    ['with a blank', { 'a b': 1 }],
    ['in another script', { 名前: 'x' }],
    ['of digits', { 1: true }],
    ['of the block itself', { id: 'x', raw: { y: 1 }, directive: 'z', type: 't' }],
    ['and values with separators of lines', { note: 'a\u2028b', 'a:b': '"}\n' }],
  ])('keeps attributes with names %s through Markdown', (_, attrs) => {
    const json = doc(
      { type: 'chart', attrs, content: [paragraph(text('x'))] },
      { type: 'embed', attrs: { url: 'https://a.example/', ...attrs } },
      { type: 'heading', attrs: { level: 2, ...attrs }, content: [text('x')] },
      { type: 'columns', attrs, content: [{ type: 'column', attrs, content: [paragraph(text('x'))] }] },
    );
    expect(toJson(parseMarkdown(toMarkdown(read(json).result)))).toEqual(json);
  });

  test.each([
    [
      'a break in a heading',
      doc({ type: 'heading', attrs: { level: 3 }, content: [text('a\nb'), { type: 'hard_break' }, text('c')] }),
    ],
    ['a mark that ends in a blank', doc(paragraph(text('a '), text('bold ', { type: 'bold' }), text('c')))],
    ['a mark within a word', doc(paragraph(text('a'), text('-b-', { type: 'italic' }), text('c')))],
    [
      'neighbouring lists',
      doc(
        ...[1, 2, 3].map(() => ({
          type: 'bullet_list',
          content: [{ type: 'list_item', content: [paragraph(text('a'))] }],
        })),
      ),
    ],
    ['an empty page', doc()],
    [
      'empty blocks',
      doc(
        paragraph(),
        { type: 'bullet_list', content: [{ type: 'list_item' }] },
        { type: 'blockquote' },
        { type: 'heading' },
      ),
    ],
    [
      'a list in a list in a list',
      doc({
        type: 'bullet_list',
        content: [
          {
            type: 'list_item',
            content: [
              {
                type: 'bullet_list',
                content: [{ type: 'list_item', content: [{ type: 'bullet_list', content: [{ type: 'list_item' }] }] }],
              },
            ],
          },
        ],
      }),
    ],
    [
      'a tight list with two paragraphs',
      doc({
        type: 'bullet_list',
        attrs: { tight: true },
        content: [{ type: 'list_item', content: [paragraph(text('a')), paragraph(text('b'))] }],
      }),
    ],
    [
      'cells with blocks',
      doc({
        type: 'table',
        content: [
          {
            type: 'table_row',
            content: [{ type: 'table_cell', content: [paragraph(text('a')), { type: 'divider' }] }],
          },
        ],
      }),
    ],
    [
      'a table without a header',
      doc({
        type: 'table',
        attrs: { header: false },
        content: [{ type: 'table_row', content: [{ type: 'table_cell', content: [text('a|b')] }] }],
      }),
    ],
    [
      'a ragged table',
      doc({
        type: 'table',
        content: [
          { type: 'table_row', content: [{ type: 'table_header', content: [paragraph(text('a'))] }] },
          { type: 'table_row', content: [{ type: 'table_cell' }, { type: 'table_cell', content: [text('b')] }] },
        ],
      }),
    ],
    [
      'lines that look like Markdown',
      doc(paragraph(text('# a\n- b\n1. c\n> d\n```\n:::x\n| a |\n| - |\n===\n[^1]: x\n$$\n<div>'))),
    ],
    [
      'HTML that is not a block by itself',
      doc(
        { type: 'html', attrs: { html: '<div>\n\n</div>' } },
        { type: 'html', attrs: { html: '<!-- open' } },
        paragraph(text('a')),
      ),
    ],
    ['code with fences', doc({ type: 'code_block', attrs: { language: 'a b' }, content: [text('```\n~~~~\n')] })],
    [
      'odd attributes',
      doc({
        type: 'bullet_list',
        content: [{ type: 'list_item', attrs: { color: 'red' }, content: [paragraph(text('a'))] }],
      }),
    ],
    [
      'a reference to an undefined footnote',
      doc(paragraph(text('a'), { type: 'footnote_ref', attrs: { label: '1' } })),
    ],
    [
      'formulas with dollars',
      doc(
        { type: 'math', attrs: { tex: '$$\n$$' } },
        paragraph({ type: 'math_inline', attrs: { tex: ' $ ' } }, text('1')),
      ),
    ],
    ['an image with a size', doc({ type: 'image', attrs: { src: 'resource:a', alt: '[x]', width: 20 } })],
  ])('has its own Markdown: %s', (_, json) => {
    const markdown = toMarkdown(read(json).result);
    expect(toMarkdown(parseMarkdown(markdown))).toBe(markdown);
    expect(toMarkdown(readDoc(toJson(parseMarkdown(markdown))).doc)).toBe(markdown);
    const words = (markdown: string) => markdown.replace(/\s+|\[\^1\]/g, '');
    expect(words(toText(parseMarkdown(markdown)))).toBe(words(toText(read(json).result)));
  });

  test('accepts the names of other editors', () => {
    const { result } = read(
      doc(paragraph(text('a', { type: 'strong' }), { type: 'mention', attrs: { id: 'u1', label: 'Ann' } }), {
        type: 'horizontal_rule',
      }),
    );
    expect(toMarkdown(result)).toBe('**a**@[Ann](user:u1)\n\n---\n');
  });
});
