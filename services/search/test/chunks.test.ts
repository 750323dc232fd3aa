import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { describe, expect, test } from '@jest/globals';
import { type Chunk, chunksOf, embeddedText } from '../src/domain/chunks.js';
import { tokensIn } from '../src/domain/tokens.js';

const sentence = (n: number): string => Array.from({ length: n }, (_, i) => `word${i % 7}`).join(' ');

/** Returns the chunks without the overview that a text of several ones begins with. */
function partsOf(text: string, tokens = 100, type = ResourceType.DOCUMENT, name = 'Guide'): Chunk[] {
  const chunks = chunksOf({ type, name, text }, tokens);
  return chunks.length > 1 ? chunks.slice(1) : chunks;
}

function cut(text: string, tokens = 100, type = ResourceType.DOCUMENT, name = 'Guide') {
  return partsOf(text, tokens, type, name).map(({ start, end, title }) => ({ text: text.slice(start, end), title }));
}

/** Expects that everything except white space is in exactly one chunk, in order. */
function expectWhole(text: string, chunks: readonly Chunk[]): void {
  let at = 0;
  for (const { start, end } of chunks) {
    expect(text.slice(at, start).trim()).toBe('');
    expect(end).toBeGreaterThan(start);
    at = end;
  }
  expect(text.slice(at).trim()).toBe('');
}

describe('chunks', () => {
  test('a short text is one chunk, with its name as title', () => {
    expect(cut('Just a few words.\n')).toEqual([{ text: 'Just a few words.', title: 'Guide' }]);
  });

  test('the first of several chunks is the beginning of the text, under its name', () => {
    const text = `# Travel\n\n${sentence(30)}\n\n## Trains\n\n${sentence(30)}\n\n# Food\n\n${sentence(30)}\n`;
    const [overview, first] = chunksOf({ type: ResourceType.DOCUMENT, name: 'Guide', text }, 100);
    expect([overview?.title, overview?.start]).toEqual(['Guide', first?.start]);
    expect(overview?.end).toBeGreaterThan(first?.end as number);
    const read = tokensIn(text.slice(overview?.start, overview?.end));
    expect(read).toBeGreaterThan(75);
    expect(read).toBeLessThanOrEqual(125);
  });

  test('a small rest of a section belongs to the chunk before it', () => {
    const paragraphs = (count: number) => Array.from({ length: count }, () => sentence(9)).join('\n\n');
    expect(cut(paragraphs(6))).toHaveLength(1);
    expect(cut(paragraphs(9))).toHaveLength(2);
    expect(cut(`${paragraphs(5)}\n\n# Other\n\n${sentence(9)}`)).toHaveLength(2);
  });

  test('headings begin chunks, and their path is the title', () => {
    const text = `# Travel\n\n${sentence(30)}\n\n## Trains\n\n${sentence(30)}\n\n# Food\n\n${sentence(30)}\n`;
    expect(cut(text).map(({ title, text: [first] }) => [title, first])).toEqual([
      ['Guide › Travel', '#'],
      ['Guide › Travel › Trains', '#'],
      ['Guide › Food', '#'],
    ]);
    expectWhole(text, partsOf(text));
  });

  test('small sections stay together', () => {
    const text = '# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree\n';
    expect(cut(text)).toEqual([{ text: text.trim(), title: 'Guide › A' }]);
  });

  test('a heading is not left behind by its text', () => {
    const text = `${sentence(16)}\n\n# Heading\n\n${sentence(33)}\n`;
    const name = 'A rather long name of a guide to many things '.repeat(3);
    const chunks = cut(text, 100, ResourceType.DOCUMENT, name);
    expect(chunks[0]?.text).toBe(sentence(16));
    expect(chunks[1]?.title).toMatch(/ › Heading$/);
    expect(chunks[1]?.text.startsWith('# Heading')).toBe(true);
  });

  test('underlined headings count, those in code do not', () => {
    const text = `Title\n=====\n\n${sentence(40)}\n\n\`\`\`\n# comment\n\n\`\`\`\n\nPart\n----\n\n${sentence(40)}\n`;
    expect(cut(text).map(({ title }) => title)).toEqual(['Guide › Title', 'Guide › Title › Part']);
  });

  test('long paragraphs are cut behind sentences, then words', () => {
    const text = Array.from({ length: 40 }, (_, i) => `Sentence number ${i} says a little more.`).join(' ');
    const chunks = cut(text);
    expect(chunks.length).toBeGreaterThan(3);
    for (const { text: one } of chunks) expect(one.trim()).toMatch(/\.$/);
    for (const { text: one } of chunks.slice(0, -1)) expect(tokensIn(one)).toBeLessThanOrEqual(100);
    const words = cut(sentence(400));
    for (const { text: one } of words) expect(one.trim()).toMatch(/^word\d.*word\d$/);
  });

  test('scripts without spaces count by their signs', () => {
    const text = '我们需要大量训练数据来提高搜索质量。'.repeat(30);
    const chunks = cut(text);
    expect(chunks.length).toBeGreaterThanOrEqual(5);
    for (const { text: one } of chunks) expect(one.length).toBeLessThanOrEqual(110);
    for (const { text: one } of chunks) expect(one.endsWith('。')).toBe(true);
    expectWhole(text, partsOf(text));
  });

  test('no text and no character is cut in halves', () => {
    for (const text of ['🎉'.repeat(500), 'x'.repeat(5000), '\ud800'.repeat(300), `a${' '.repeat(9000)}b`]) {
      const chunks = partsOf(text, 100, ResourceType.FILE, 'n');
      expectWhole(text, chunks);
      for (const { end } of chunks) {
        if (text.startsWith('🎉')) expect(end % 2).toBe(0);
      }
    }
  });

  test('each part of a table is told its columns', () => {
    const text = `Item · Price\n${Array.from({ length: 60 }, (_, i) => `thing ${i} · ${i * 10} euros`).join('\n')}`;
    const chunks = cut(text, 100, ResourceType.TABLE, 'Prices');
    expect(chunks.length).toBeGreaterThan(2);
    for (const { title } of chunks) expect(title).toBe('Prices › Item · Price');
    for (const { text: one } of chunks.slice(1)) expect(one).toMatch(/^thing \d+ · .* euros$/s);
  });

  test('# is no heading in a file', () => {
    expect(cut(`# not one\n\n${sentence(50)}`, 100, ResourceType.FILE)[0]?.title).toBe('Guide');
  });

  test('a name alone is a chunk without text, and nothing is none', () => {
    expect(cut('', 100, ResourceType.FOLDER, 'Budget 2026')).toEqual([{ text: '', title: 'Budget 2026' }]);
    expect(cut(' \n ', 100, ResourceType.DOCUMENT, '')).toEqual([]);
  });

  test('very long texts are read to a limit, and quickly', () => {
    const chunks = chunksOf({ type: ResourceType.DOCUMENT, name: 'n', text: `${sentence(12)}\n\n`.repeat(15_000) }, 50);
    expect(chunks.length).toBe(501);
    for (const text of ['[', '# ', '(', '|-', '`', '~~~\n', ' \n', '\n# a', '=\n']) {
      const long = text.repeat(200_000);
      for (const chunk of chunksOf({ type: ResourceType.DOCUMENT, name: long, text: long }, 200)) {
        embeddedText({ text: long }, chunk);
      }
    }
  });

  test('a model is given the title, and the text without what nobody reads', () => {
    const text =
      '## Tools\n\nSee [the list](https://example.com/a?b=c "x") and ![logo](logo.png).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
    const [chunk] = chunksOf({ type: ResourceType.DOCUMENT, name: 'Guide', text }, 100);
    expect(embeddedText({ text }, chunk as Chunk)).toBe(
      'Guide › Tools\n## Tools See the list and logo. | a | b | | 1 | 2 |',
    );
  });
});
