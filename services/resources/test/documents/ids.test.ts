import { describe, expect, test } from '@jest/globals';
import {
  type Anchor,
  applyBlockIds,
  blockIds,
  countBlocks,
  type Doc,
  findAnchors,
  parseMarkdown,
  readDoc,
  toJson,
  withBlockIds,
} from '../../src/documents/index.js';
import { eachBlock } from '../../src/documents/model/model.js';
import { blockText } from '../../src/documents/model/text.js';

const PAGE =
  '# Plan\n\nFirst we look.\n\n- buy milk and bread\n- sell the old car\n\n> quoted words\n\nLast we leap.\n\nLast we leap.\n';

/** Returns ids by each block's type and own text. */
function idsByText(doc: Doc): Record<string, string> {
  const ids: Record<string, string> = {};
  eachBlock(doc, (block) => {
    const text = `${block.type} ${blockText(block)}`;
    ids[ids[text] === undefined ? text : `${text} again`] = block.id ?? '';
  });
  return ids;
}

const findAnchor = (doc: Doc, anchor: Anchor) => findAnchors(doc, [anchor])[0];

const edited = (from: string, to: string) => {
  const before = withBlockIds(parseMarkdown(PAGE));
  const after = withBlockIds(parseMarkdown(PAGE.replace(from, to)), before);
  expect(new Set(blockIds(after)).size).toBe(countBlocks(after));
  return { old: idsByText(before), now: idsByText(after) };
};

describe('block ids', () => {
  test('are unique for every block, and equal for equal pages', () => {
    const ids = blockIds(withBlockIds(parseMarkdown(PAGE)));
    expect(ids).toHaveLength(countBlocks(parseMarkdown(PAGE)));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^b[\da-z]{11}$/);
    expect(blockIds(withBlockIds(parseMarkdown(PAGE)))).toEqual(ids);
  });

  test('survive an edit elsewhere, and the edit of the block itself', () => {
    const { old, now } = edited('First we look.', 'First we look around.');
    expect(now['paragraph First we look around.']).toBe(old['paragraph First we look.']);
    for (const text of Object.keys(old)) if (!text.includes('look')) expect(now[text]).toBe(old[text]);
  });

  test('survive additions, deletions and moves elsewhere', () => {
    const added = edited('First we look.', 'New.\n\nFirst we look.\n\nNext.');
    for (const text of Object.keys(added.old)) expect(added.now[text]).toBe(added.old[text]);
    expect(Object.values(added.old)).not.toContain(added.now['paragraph New.']);
    const out = edited('- sell the old car\n', '');
    for (const text of Object.keys(out.now)) expect(out.now[text]).toBe(out.old[text]);
    const moved = edited('# Plan\n\nFirst we look.', 'First we look.\n\n# Plan');
    expect(moved.now).toEqual(moved.old);
  });

  test('stay with an item when its neighbours change', () => {
    const { old, now } = edited('- buy milk and bread\n', '- buy milk and rye bread\n- rest\n');
    expect(now['paragraph sell the old car']).toBe(old['paragraph sell the old car']);
    expect(now['paragraph buy milk and rye bread']).toBe(old['paragraph buy milk and bread']);
    expect(now['bullet_list ']).toBe(old['bullet_list ']);
  });

  test('from the writer are kept, except duplicates', () => {
    const { doc } = readDoc({
      type: 'doc',
      content: [
        { id: 'mine', type: 'divider' },
        { id: 'mine', type: 'divider' },
      ],
    });
    const [first, second] = blockIds(withBlockIds(doc));
    expect(first).toBe('mine');
    expect(second).toMatch(/^b/);
  });

  test('are restored from a list stored beside the text', () => {
    const before = withBlockIds(parseMarkdown(PAGE));
    const doc = withBlockIds(parseMarkdown(PAGE.replace('Plan', 'Plans')), before);
    expect(toJson(applyBlockIds(parseMarkdown(PAGE.replace('Plan', 'Plans')), blockIds(doc)))).toEqual(toJson(doc));
    const short = blockIds(applyBlockIds(parseMarkdown(PAGE), blockIds(doc).slice(0, 3)));
    expect(short.slice(0, 3)).toEqual(blockIds(doc).slice(0, 3));
    expect(new Set(short).size).toBe(short.length);
  });
});

describe('the anchor of a comment', () => {
  const page = withBlockIds(
    parseMarkdown(
      'The quick brown fox jumps.\n\nThe lazy dog 😀 sleeps all day long in the sun.\n\nThe end, the end.\n',
    ),
  );
  const [fox = '', dog = '', end = ''] = blockIds(page);
  const change = (markdown: string) => withBlockIds(parseMarkdown(markdown), page);

  test('is found in its block, in code points', () => {
    expect(findAnchor(page, { quote: 'sleeps', block_id: dog })).toEqual({ block_id: dog, start: 15, end: 21 });
    expect(findAnchor(page, { quote: 'the end', prefix: 'The end, ', block_id: end })).toEqual({
      block_id: end,
      start: 9,
      end: 16,
    });
  });

  test('follows edits elsewhere and in its block', () => {
    const anchor = { quote: 'quick brown fox', prefix: 'The ', suffix: ' jumps.', block_id: fox };
    const more = change('New.\n\nAnd so: The quick brown fox jumps.\n\nThe lazy dog.\n');
    expect(findAnchor(more, anchor)).toEqual({ block_id: fox, start: 12, end: 27 });
    const inside = change('The quick browne fox jumps.\n');
    expect(findAnchor(inside, anchor)).toEqual({ block_id: fox, start: 4, end: 20 });
  });

  test('follows words that were rewritten between the same words', () => {
    const anchor = { quote: 'sleeps', prefix: 'lazy dog 😀 ', suffix: ' all day long', block_id: dog };
    const after = change('The lazy dog 😀 snores loud all day long in the sun.\n');
    expect(findAnchor(after, anchor)).toEqual({ block_id: blockIds(after)[0], start: 15, end: 26 });
  });

  test('follows words into another block', () => {
    const after = change('Nothing.\n\nHere is what a quick brown fox jumps over.\n');
    const anchor = { quote: 'quick brown fox jumps', prefix: 'The ', suffix: '.', block_id: 'gone' };
    expect(findAnchor(after, anchor)).toEqual({ block_id: blockIds(after)[1], start: 15, end: 36 });
  });

  test('is orphaned when its words are gone, and not moved to others', () => {
    const after = change('Something else entirely, of the sort.\n');
    expect(findAnchor(after, { quote: 'quick brown fox', prefix: 'The ', suffix: ' jumps', block_id: fox })).toBe(
      'orphaned',
    );
    expect(findAnchor(after, { quote: 'the', prefix: 'xxxxx', suffix: 'yyyyy', block_id: 'gone' })).toBe('orphaned');
  });

  test('may span lines or blocks', () => {
    const doc = withBlockIds(parseMarkdown('one two\nthree four\n\nfive six seven\n'));
    expect(findAnchor(doc, { quote: 'two three' })).toMatchObject({ start: 4, end: 13 });
    expect(findAnchor(doc, { quote: 'four\n\nfive six seven' })).toMatchObject({
      block_id: blockIds(doc)[1],
      start: 0,
      end: 14,
    });
  });
});
