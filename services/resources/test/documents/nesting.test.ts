import { describe, expect, test } from '@jest/globals';
import {
  MAX_DEPTH,
  parseHtml,
  parseMarkdown,
  readDoc,
  toHtml,
  toJson,
  toMarkdown,
  toText,
  withBlockIds,
} from '../../src/documents/index.js';

const MANY = 10_000;
const many = (text: string) => text.repeat(MANY);

describe('extremely deep nesting', () => {
  test.each([
    ['quotes', `${many('> ')}deep`],
    ['lists', `${many('- ')}deep`],
    ['ordered lists', `${many('1. ')}deep`],
    ['quotes in lists', `${many('> - ')}deep`],
    ['directives', `${many(':::note\n')}deep\n${many(':::\n')}`],
    ['brackets', `${many('[')}deep${many(']')}`],
    ['links', `${many('[')}deep${many('](b)')}`],
    ['images', `${many('![')}deep${many('](b)')}`],
    ['emphasis', `${many('*a **b ')}deep${many(' b** a*')}`],
    ['delimiters that match nothing', `${many('a**b')}${many('c* ')}deep`],
    ['tags', `${many('<u>*a')}deep${many('*</u>')}`],
    ['open ticks and dollars', `${many('` $a ')}deep`],
    ['open comments', `${many('<!-- ')}deep`],
    ['footnotes', `${many('[^1]: ')}deep`],
  ])('is read and written: %s', (_, markdown) => {
    const doc = parseMarkdown(markdown);
    const normal = toMarkdown(doc);
    expect(toMarkdown(parseMarkdown(normal))).toBe(normal);
    const { doc: read, faults } = readDoc(JSON.parse(JSON.stringify(toJson(withBlockIds(doc)))));
    expect(faults).toEqual([]);
    // A comment that is never closed hides everything.
    const shown = markdown.startsWith('<!--') ? '' : 'deep';
    expect(toHtml(read).html).toContain(shown);
    expect(toText(read)).toContain(shown);
  });

  test('is read as JSON and as HTML', () => {
    const json = JSON.parse(
      `{"type":"doc","content":[${many('{"type":"blockquote","content":[')}{"type":"paragraph","content":[{"type":"text","text":"deep"}]}${many(']}')}]}`,
    );
    const { doc, faults, warnings } = readDoc(json);
    expect(faults).toEqual([]);
    expect(warnings).toEqual([expect.objectContaining({ code: 'nested_too_deep' })]);
    expect(toText(doc)).toBe('deep\n');
    expect(toMarkdown(parseHtml(`${many('<blockquote><b>')}deep${many('</b></blockquote>')}`))).toContain('deep');
  });

  test('keeps its structure as deep as it is shown', () => {
    const depth = MAX_DEPTH - 2;
    const doc = parseMarkdown(`${'> '.repeat(depth)}deep`);
    let [node] = doc.content;
    let found = 0;
    for (; node?.type === 'blockquote'; node = node.content?.[0]) found += 1;
    expect(found).toBe(depth);
  });
});
