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
  test('returns a short text as one chunk with its name as title', () => {
    expect(cut('Just a few words.\n')).toEqual([{ text: 'Just a few words.', title: 'Guide' }]);
  });

  test('begins several chunks with the beginning of the text, titled by its name', () => {
    const text = `# Travel\n\n${sentence(30)}\n\n## Trains\n\n${sentence(30)}\n\n# Food\n\n${sentence(30)}\n`;
    const [overview, first] = chunksOf({ type: ResourceType.DOCUMENT, name: 'Guide', text }, 100);
    expect([overview?.title, overview?.start]).toEqual(['Guide', first?.start]);
    expect(overview?.end).toBeGreaterThan(first?.end as number);
    const read = tokensIn(text.slice(overview?.start, overview?.end));
    expect(read).toBeGreaterThan(75);
    expect(read).toBeLessThanOrEqual(125);
  });

  test('appends a small rest of a section to the chunk before it', () => {
    const paragraphs = (count: number) => Array.from({ length: count }, () => sentence(9)).join('\n\n');
    expect(cut(paragraphs(6))).toHaveLength(1);
    expect(cut(paragraphs(9))).toHaveLength(2);
    expect(cut(`${paragraphs(5)}\n\n# Other\n\n${sentence(9)}`)).toHaveLength(2);
  });

  test('begins a chunk at each heading, with the path of headings as title', () => {
    const text = `# Travel\n\n${sentence(30)}\n\n## Trains\n\n${sentence(30)}\n\n# Food\n\n${sentence(30)}\n`;
    expect(cut(text).map(({ title, text: [first] }) => [title, first])).toEqual([
      ['Guide › Travel', '#'],
      ['Guide › Travel › Trains', '#'],
      ['Guide › Food', '#'],
    ]);
    expectWhole(text, partsOf(text));
  });

  test('keeps small sections together', () => {
    const text = '# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree\n';
    expect(cut(text)).toEqual([{ text: text.trim(), title: 'Guide › A' }]);
  });

  test('keeps a heading with its text', () => {
    const text = `${sentence(16)}\n\n# Heading\n\n${sentence(33)}\n`;
    const name = 'A rather long name of a guide to many things '.repeat(3);
    const chunks = cut(text, 100, ResourceType.DOCUMENT, name);
    expect(chunks[0]?.text).toBe(sentence(16));
    expect(chunks[1]?.title).toMatch(/ › Heading$/);
    expect(chunks[1]?.text.startsWith('# Heading')).toBe(true);
  });

  test('reads a heading without what closes it, however much white space is in it', () => {
    const pathOf = (line: string) => cut(`${line}\n\n${sentence(90)}\n\n## Next\n\n${sentence(90)}`)[0]?.title;
    for (const line of ['# One two', '# One two ##', '#\tOne two #  ', '# One two\t#']) {
      expect([line, pathOf(line)]).toEqual([line, pathOf('# One two')]);
    }
    expect(pathOf('# One two#')).toContain('One two#');
    expect(pathOf('# ##')).toBe(pathOf('#'));
    // A pattern that goes back over this white space would take hours.
    const wide = `# a${' '.repeat(500_000)}b`;
    expect(chunksOf({ type: ResourceType.DOCUMENT, name: 'Guide', text: wide }, 100).length).toBeGreaterThan(0);
  });

  test('recognizes underlined headings, but none in code', () => {
    const text = `Title\n=====\n\n${sentence(40)}\n\n\`\`\`\n# comment\n\n\`\`\`\n\nPart\n----\n\n${sentence(40)}\n`;
    expect(cut(text).map(({ title }) => title)).toEqual(['Guide › Title', 'Guide › Title › Part']);
  });

  test('splits long paragraphs after sentences, then after words', () => {
    const text = Array.from({ length: 40 }, (_, i) => `Sentence number ${i} says a little more.`).join(' ');
    const chunks = cut(text);
    expect(chunks.length).toBeGreaterThan(3);
    for (const { text: one } of chunks) expect(one.trim()).toMatch(/\.$/);
    for (const { text: one } of chunks.slice(0, -1)) expect(tokensIn(one)).toBeLessThanOrEqual(100);
    const words = cut(sentence(400));
    for (const { text: one } of words) expect(one.trim()).toMatch(/^word\d.*word\d$/);
  });

  test('counts scripts without spaces by their characters', () => {
    const text = '我们需要大量训练数据来提高搜索质量。'.repeat(30);
    const chunks = cut(text);
    expect(chunks.length).toBeGreaterThanOrEqual(5);
    for (const { text: one } of chunks) expect(one.length).toBeLessThanOrEqual(110);
    for (const { text: one } of chunks) expect(one.endsWith('。')).toBe(true);
    expectWhole(text, partsOf(text));
  });

  test('neither loses text nor splits a character', () => {
    for (const text of ['🎉'.repeat(500), 'x'.repeat(5000), '\ud800'.repeat(300), `a${' '.repeat(9000)}b`]) {
      const chunks = partsOf(text, 100, ResourceType.FILE, 'n');
      expectWhole(text, chunks);
      for (const { end } of chunks) {
        if (text.startsWith('🎉')) expect(end % 2).toBe(0);
      }
    }
  });

  test('titles each part of a table with its columns', () => {
    const text = `Item · Price\n${Array.from({ length: 60 }, (_, i) => `thing ${i} · ${i * 10} euros`).join('\n')}`;
    const chunks = cut(text, 100, ResourceType.TABLE, 'Prices');
    expect(chunks.length).toBeGreaterThan(2);
    for (const { title } of chunks) expect(title).toBe('Prices › Item · Price');
    for (const { text: one } of chunks.slice(1)) expect(one).toMatch(/^thing \d+ · .* euros$/s);
  });

  test('does not treat # as a heading in a file', () => {
    expect(cut(`# not one\n\n${sentence(50)}`, 100, ResourceType.FILE)[0]?.title).toBe('Guide');
  });

  test('returns a chunk without text for a name alone, and none for nothing', () => {
    expect(cut('', 100, ResourceType.FOLDER, 'Budget 2026')).toEqual([{ text: '', title: 'Budget 2026' }]);
    expect(cut(' \n ', 100, ResourceType.DOCUMENT, '')).toEqual([]);
  });

  test('reads very long texts quickly and up to a limit', () => {
    const chunks = chunksOf({ type: ResourceType.DOCUMENT, name: 'n', text: `${sentence(12)}\n\n`.repeat(15_000) }, 50);
    expect(chunks.length).toBe(501);
    for (const text of ['[', '# ', '(', '|-', '`', '~~~\n', ' \n', '\n# a', '=\n']) {
      const long = text.repeat(200_000);
      for (const chunk of chunksOf({ type: ResourceType.DOCUMENT, name: long, text: long }, 200)) {
        embeddedText({ text: long }, chunk);
      }
    }
  });

  test('embeds the title and the text without markup', () => {
    const text =
      '## Tools\n\nSee [the list](https://example.com/a?b=c "x") and ![logo](logo.png).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
    const [chunk] = chunksOf({ type: ResourceType.DOCUMENT, name: 'Guide', text }, 100);
    expect(embeddedText({ text }, chunk as Chunk)).toBe(
      'Guide › Tools\n## Tools See the list and logo. | a | b | | 1 | 2 |',
    );
  });
});
