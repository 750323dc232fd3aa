import type { AppError } from '@commonplace/kit/errors';
import { afterAll, describe, expect, test } from '@jest/globals';
import { NO_INPUT } from '../../src/content/input.js';
import { sanitise } from '../../src/documents/html/sanitise.js';
import { parseHtml, parseMarkdown, toHtml, toJson, toMarkdown, withBlockIds } from '../../src/documents/index.js';
import { derivation } from '../../src/documents/kind/derivation.js';
import { openDeriver } from '../../src/documents/kind/deriver.js';
import { MAX_OPEN_ELEMENTS } from '../../src/documents/model/model.js';

const MIB = 1024 * 1024;
const fill = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length));
const limits = { documentBytes: 5 * MIB, documentJsonBytes: 8 * MIB };

describe('HTML within HTML', () => {
  // At quadratic cost, these would take minutes.
  test.each([
    ['elements', '<div>'],
    ['elements that close what is not open', '<div></x>'],
    ['elements that most pages never nest', '<caption>'],
    ['lists', '<ul><li>'],
    ['tables', '<table><tr><td>'],
    ['marks', '<b><i>'],
    ['silent elements', '<svg>'],
  ])('is refused if it is nested too deep: %s', (_, piece) => {
    const html = fill(piece, 5 * MIB);
    const input = { ...NO_INPUT, html: html.slice(0, 5 * MIB) };
    expect(() => derivation.create(input, limits)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        reason: 'document_too_complex',
        param: 'html',
        details: { limit: MAX_OPEN_ELEMENTS },
      }),
    );
    // HTML that was stored before the limit existed is shown as its source.
    expect(parseHtml(html).content).toEqual([{ type: 'code_block', content: [{ type: 'text', text: html }] }]);
    expect(sanitise(html)).toMatchObject({ isTooNested: true, html: expect.stringMatching(/^<pre>&lt;/) });
  });

  test('is refused within Markdown as well', () => {
    const input = { ...NO_INPUT, markdown: `Text\n\n${fill('<div>\n\n', 100_000)}` };
    expect(() => derivation.create(input, limits)).toThrow(expect.objectContaining({ reason: 'document_too_complex' }));
  });

  test('is parsed up to the limit', () => {
    const html = `${'<div>'.repeat(MAX_OPEN_ELEMENTS - 1)}deep${'</div>'.repeat(MAX_OPEN_ELEMENTS - 1)}`;
    expect(sanitise(html)).toEqual({ html, warnings: [] });
    expect(derivation.create({ ...NO_INPUT, html }, limits).warnings).toEqual([]);
  });
});

describe('tables', () => {
  const columns = 300;
  const wide = `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n`;

  test('does not add tens of thousands of cells to the rows of a short text', () => {
    const doc = parseMarkdown(wide + '|b\n'.repeat(300));
    expect(doc.content.map(({ type }) => type)).not.toContain('table');
    expect(toHtml(doc).html.length).toBeLessThan(10_000);
  });

  test('nor to many tables', () => {
    const doc = parseMarkdown(`${wide}${'|b\n'.repeat(60)}\n`.repeat(20));
    const tables = doc.content.filter(({ type }) => type === 'table').length;
    expect(tables).toBeGreaterThan(0);
    expect(tables).toBeLessThan(20);
  });

  test('accepts a table with some cells left out', () => {
    const doc = parseMarkdown(wide + '|b\n'.repeat(3));
    expect(doc.content.map(({ type }) => type)).toEqual(['table']);
  });
});

describe('JSON in attributes', () => {
  // Functions that walk through it would overflow the stack.
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  test.each([
    ['Markdown', parseMarkdown(`::: zzz {a=${deep}}\nx\n:::\n`)],
    ['attributes in HTML', parseHtml(`<p data-attrs='{"a":${deep}}'>x</p>`)],
    ['blocks in HTML', parseHtml(`<div data-node='{"type":"zzz","attrs":{"a":${deep}}}'>x</div>`)],
    ['marks in HTML', parseHtml(`<span data-mark='{"type":"zzz","attrs":{"a":${deep}}}'>x</span>`)],
  ])('is not read if it is nested too deep: %s', (_, doc) => {
    expect([toHtml(doc).html, toMarkdown(doc), JSON.stringify(toJson(doc))]).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('x')),
    );
  });
});

test('replacing all blocks keeps no ids, and takes no quadratic time', () => {
  const text = (word: string) => Array.from({ length: 20_000 }, (_, i) => `${word}${i} ${word}${i * 7}`).join('\n\n');
  const before = withBlockIds(parseMarkdown(text('old')));
  const after = withBlockIds(parseMarkdown(text('new')), before);
  const used = new Set(before.content.map(({ id }) => id));
  expect(after.content.filter(({ id }) => used.has(id)).length).toBe(20_000);
});

describe('a deadline', () => {
  const deriver = openDeriver({ documentThreads: 2, documentSeconds: 3, documentsWaiting: 2 });
  afterAll(() => deriver.close());
  const endless = { format: 'markdown', text: fill('[', 60_000).concat('\n\n').repeat(80) } as const;
  const long = { format: 'markdown', text: fill('word ', 2000) } as const;
  const read = (tenant: string, body: typeof endless | typeof long) =>
    deriver.run(tenant, body.text.length, 'text', body, 'html', []);

  test('refuses a document that takes longer as too complex, and parses others meanwhile', async () => {
    const refusal = expect(read('slow', endless)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'document_too_complex',
      details: { limit_seconds: 3, setting: 'COMMONPLACE_DOCUMENT_SECONDS' },
    });
    const again = [read('slow', endless), read('slow', endless)].map((one) => expect(one).rejects.toBeDefined());
    await expect(read('slow', endless)).rejects.toMatchObject({ reason: 'concurrency_limited', details: { limit: 2 } });
    for (let at = 0; at < 5; at++) {
      expect(await read('other', long)).toContain('word');
    }
    await refusal;
    await Promise.all(again);
  });
});

describe('the time of a request', () => {
  const input = { ...NO_INPUT, markdown: fill(`${'['.repeat(60_000)}\n\n`, 2 * MIB) };
  const deriver = openDeriver({ documentThreads: 2, documentSeconds: 300, documentsWaiting: 10 });
  afterAll(() => deriver.close());

  /** Reads a document in two seconds. A machine that is too busy to read it says so, and is asked again. */
  async function parse(): Promise<string> {
    for (;;) {
      const requester = { tenant: 'a', deadline: Date.now() + 2000 };
      const body = { format: 'markdown', text: input.markdown } as const;
      try {
        return await deriver.run(requester, input.markdown.length, 'text', body, 'html', []);
      } catch (error) {
        if ((error as AppError).reason !== 'service_unavailable') throw error;
      }
    }
  }

  test('limits the parsing of a document, and reports the limit that was exceeded', async () => {
    await expect(parse()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'document_too_complex',
      details: { setting: 'COMMONPLACE_REQUEST_TIMEOUT_MS' },
    });
  });

  test('is not spent on waiting for other work of the same Org: the refusal comes before its end', async () => {
    const body = { format: 'markdown', text: input.markdown } as const;
    const first = deriver.run({ tenant: 'b', deadline: Date.now() + 4000 }, MIB, 'text', body, 'html', []);
    const second = deriver.run({ tenant: 'b', deadline: Date.now() + 4000 }, MIB, 'text', body, 'html', []);
    await expect(second).rejects.toMatchObject({ reason: 'concurrency_limited' });
    await expect(first).rejects.toMatchObject({
      reason: expect.stringMatching(/document_too_complex|service_unavailable/),
    });
  });
});
