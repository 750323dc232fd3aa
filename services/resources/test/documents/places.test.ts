import { describe, expect, test } from '@jest/globals';
import {
  blockAt,
  blockIds,
  mapBlocks,
  mapBlocksOfDoc,
  parseHtml,
  parseMarkdown,
  toMarkdown,
  withBlockIds,
} from '../../src/documents/index.js';
import { type Doc, type DocNode, eachBlock } from '../../src/documents/model/model.js';
import { blockText } from '../../src/documents/model/text.js';
import type { TextPlace } from '../../src/domain/text-place.js';
import { EXAMPLES, readHandbook } from './corpus.js';

const PAGE = `---
title: Leave
---

# Time off

Everybody *may* leave.

- buy milk
- sell the [old car](https://example.org)
  - in parts

> [!NOTE]
> Read this first.

- [x] done that
- [ ] do this

| Day | What |
| --- | ---- |
| Monday | ride |

:::toggle{summary="More"}
Hidden words.
:::

\`\`\`js
let answer = 42;
\`\`\`

Same words.

**Same** words.

__Same__ words.

Same words.
`;

const at = (text: string, words: string, from = 0) => {
  const offset = text.indexOf(words, from);
  return { offset, text: text.slice(offset, offset + 40) };
};

function blocksAt(text: string, places: readonly TextPlace[], ids?: readonly string[]): (string | undefined)[] {
  const map = mapBlocks(text, ids);
  return places.map((place) => blockAt(map, text, place));
}

function blocksOf(doc: Doc): Map<string, DocNode> {
  const blocks = new Map<string, DocNode>();
  eachBlock(doc, (block) => {
    if (block.id !== undefined) blocks.set(block.id, block);
  });
  return blocks;
}

/** Returns the type and the text of the block with an id. */
function describeBlock(doc: Doc, id: string | undefined): string | undefined {
  const block = id === undefined ? undefined : blocksOf(doc).get(id);
  return block && `${block.type}: ${blockText(block)}`;
}

describe('the block of a place in a text', () => {
  const doc = withBlockIds(parseMarkdown(PAGE));

  test.each([
    ['title: Leave', 'front_matter: '],
    ['Time off', 'heading: Time off'],
    ['leave.', 'paragraph: Everybody may leave.'],
    ['milk', 'paragraph: buy milk'],
    ['car](', 'paragraph: sell the old car'],
    ['in parts', 'paragraph: in parts'],
    ['Read this', 'paragraph: Read this first.'],
    ['done', 'paragraph: done that'],
    ['do this', 'paragraph: do this'],
    ['ride', 'table: Day\tWhat\nMonday\tride'],
    ['Hidden', 'paragraph: Hidden words.'],
    ['answer', 'code_block: let answer = 42;'],
  ])('%s is in the innermost one', (words, block) => {
    expect(describeBlock(doc, blocksAt(PAGE, [at(PAGE, words)])[0])).toBe(block);
  });

  test('is distinguished from equal ones, whatever their markup', () => {
    const first = PAGE.indexOf('Same');
    const places = ['Same words', '**Same', '__Same', 'Same words.\n'].map((words) => at(PAGE, words, first));
    places[3] = { offset: PAGE.lastIndexOf('Same'), text: 'Same words.\n' };
    const ids = blocksAt(PAGE, places);
    expect(new Set(ids).size).toBe(4);
    expect(ids).toEqual(blockIds(doc).slice(-4));
  });

  test('is found by stored ids', () => {
    const kept = blockIds(doc).map((_, i) => `kept-${i}`);
    const [id] = blocksAt(PAGE, [at(PAGE, 'Time off')], kept);
    expect(id).toBe(kept[blockIds(doc).indexOf(blocksAt(PAGE, [at(PAGE, 'Time off')])[0] ?? '')]);
    expect(blocksAt(PAGE, [at(PAGE, 'Time off')], kept.slice(1))).toEqual([undefined]);
  });

  test('is found where it has moved, and not where its text is gone', () => {
    const later = `First of all.\n\n${PAGE}`;
    expect(blocksAt(later, [at(PAGE, 'buy milk')])).toEqual(blocksAt(PAGE, [at(PAGE, 'buy milk')]));
    expect(blocksAt(PAGE.replace('milk', 'bread'), [at(PAGE, 'buy milk')])).toEqual([undefined]);
    expect(blocksAt('', [{ offset: 0, text: '' }])).toEqual([undefined]);
  });

  test('keeps ids that a text contains', () => {
    const text = ':::toggle{id=mine summary="A"}\nWords in it.\n:::\n\nOthers.\n';
    const own = withBlockIds(parseMarkdown(text));
    expect(describeBlock(own, blocksAt(text, [at(text, 'Others')])[0])).toBe('paragraph: Others.');
    expect(blocksAt(text, [at(text, 'summary')])).toEqual(['mine']);
  });

  test('a document in another format has its own ids', () => {
    const html = withBlockIds(parseHtml('<h1>Plan</h1><p></p><p>One</p><ul><li>two<li>three</ul><p>One</p>'));
    const markdown = toMarkdown(html);
    const map = mapBlocksOfDoc(html);
    const ids = ['Plan', 'three', 'One'].map((words) => blockAt(map, map.markdown, at(markdown, words)));
    expect(map.markdown).toBe(markdown);
    expect(ids.map((id) => describeBlock(html, id))).toEqual(['heading: Plan', 'paragraph: three', 'paragraph: One']);
  });
});

describe('the ids of blocks at places', () => {
  const pages = [...EXAMPLES, ...(readHandbook() ?? [])].filter((_, i) => i % 4 === 0);

  test('equal those of a parse of the whole document, at every line of various pages', () => {
    const wrong: unknown[] = [];
    let found = 0;
    for (const [name, text] of pages) {
      const doc = withBlockIds(parseMarkdown(text));
      const kept = blockIds(doc);
      const places = [...text.matchAll(/^.*\S.*$/gm)]
        .filter((_, i, { length }) => length < 10 || i % Math.ceil(length / 10) === 0)
        .map(({ index }) => ({ offset: index, text: text.slice(index, index + 40) }));
      const derived = blocksAt(text, places);
      const byStoredIds = blocksAt(text, places, kept);
      for (const [i, id] of derived.entries()) {
        if (id !== undefined) found++;
        if (id !== byStoredIds[i]) wrong.push([name, places[i], id, byStoredIds[i]]);
      }
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(pages.length);
  });
});
