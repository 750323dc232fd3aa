import { describe, expect, test } from '@jest/globals';
import {
  appendMarkdown,
  applyEdits,
  countWords,
  parseMarkdown,
  parseText,
  prependMarkdown,
  readDoc,
  references,
  toMarkdown,
  toText,
} from '../../src/documents/index.js';

describe('edits of a text', () => {
  test('are applied in sequence', () => {
    const edits = [
      { old_text: 'a', new_text: '$& b' },
      { old_text: 'b', new_text: 'c' },
      { old_text: 'x', new_text: '', replace_all: true },
    ];
    expect(applyEdits('x a x', edits, 100)).toEqual({ text: ' $& c ' });
  });

  test('are not applied at all if one is missing or ambiguous, and all such edits are reported', () => {
    const edits = [
      { old_text: 'one', new_text: '1' },
      { old_text: 'three', new_text: '3' },
      { old_text: 'two', new_text: '2' },
      { old_text: '', new_text: '0' },
    ];
    const result = applyEdits('one two two', edits, 100);
    expect(result).toEqual({
      faults: [
        expect.objectContaining({ param: 'edits[1].old_text', code: 'text_not_found' }),
        expect.objectContaining({ param: 'edits[2].old_text', code: 'text_ambiguous' }),
        expect.objectContaining({ param: 'edits[3].old_text', code: 'missing_field' }),
      ],
    });
  });

  test('stop before a result that is too long', () => {
    const tenfold = { old_text: 'a', new_text: 'a'.repeat(10), replace_all: true };
    expect(applyEdits('aa', [tenfold], 20)).toEqual({ text: 'a'.repeat(20) });
    expect(applyEdits('aa', [tenfold], 19)).toBe('too_long');
    expect(
      applyEdits(
        'a',
        Array.from({ length: 100 }, () => tenfold),
        5_000_000,
      ),
    ).toBe('too_long');
    expect(applyEdits('aaaa', [{ old_text: 'aa', new_text: 'a', replace_all: true }], 1)).toEqual({ text: 'aa' });
  });

  test('at either end leave the rest unchanged', () => {
    expect(appendMarkdown('a', 'b')).toBe('a\n\nb');
    expect(appendMarkdown('a\n', 'b')).toBe('a\n\nb');
    expect(appendMarkdown('a\r\n\r\n', 'b')).toBe('a\r\n\r\nb');
    expect(appendMarkdown('', 'b')).toBe('b');
    expect(prependMarkdown('  a\t', 'b')).toBe('b\n\n  a\t');
    expect(prependMarkdown('---\nt: 1\n---\na', 'b\n')).toBe('---\nt: 1\n---\n\nb\n\na');
    expect(prependMarkdown('a', '')).toBe('a');
  });
});

describe('plain text', () => {
  test('is the text of a page', () => {
    const markdown =
      '# A\n\nb **c**\\\nd\n\n- e\n  - f\n- [x] g\n\n1. h\n\n| i | j |\n| - | - |\n| k | l |\n\n```\nm\n```\n\n<p>n &amp; o</p>\n';
    expect(toText(parseMarkdown(markdown))).toBe(
      'A\n\nb c\nd\n\n- e\n  - f\n- [x] g\n\n1. h\n\ni\tj\nk\tl\n\nm\n\nn & o\n',
    );
  });

  test('is parsed into paragraphs and lines', () => {
    expect(toMarkdown(parseText('a *b*\r\n c\n\n\n# d\n'))).toBe('a \\*b\\*\\\nc\n\n\\# d\n');
    expect(toText(parseText('a\nb\n\nc'))).toBe('a\nb\n\nc\n');
    expect(parseText(' \n ').content).toEqual([]);
  });

  test('is counted in words in every script', () => {
    expect(countWords(parseMarkdown("# One two\n\n- it's *three*-four 5\n"))).toBe(5);
    expect(countWords(parseMarkdown('训练计划 ok'))).toBe(5);
    expect(countWords(parseMarkdown(''))).toBe(0);
  });
});

describe('the references of a page', () => {
  test('are listed once each, in order', () => {
    const markdown =
      '[a](resource:r1) [[Plan]] [[resource:r2|b]] @[Ann](user:u1) @[Ann](user:u1) ![c](resource:r3)\n\n' +
      ':::file{resource_id="r4" name="x"}\n:::\n\n:::embed{url="resource:r1"}\n:::\n\n| [d](resource:r5#x) |\n| - |\n';
    expect(references(parseMarkdown(markdown))).toEqual({
      resources: ['r1', 'r2', 'r3', 'r4', 'r5'],
      pages: ['Plan'],
      users: ['u1'],
      attachments: ['r3', 'r4'],
    });
    expect(references(readDoc({ type: 'doc', content: [] }).doc).users).toEqual([]);
  });
});
