import { afterAll, describe, expect, test } from '@jest/globals';
import { isExtractable, openMedia } from '../../src/media/index.js';
import { BILLION_LAUGHS, bombDocx, lyingDocx, lyingOdt, SVG_WITH_SCRIPT } from './hostile.js';
import { docx, docxOf, epub, odp, odt, pptx, shuffledPptx, xlsx, zip } from './office.js';
import { encryptedPdf, japanesePdf, loopingPdf, pdf } from './pdfs.js';

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const WORD = `${OFFICE}.wordprocessingml.document`;
const SHEET = `${OFFICE}.spreadsheetml.sheet`;
const SLIDES = `${OFFICE}.presentationml.presentation`;
const ODT = 'application/vnd.oasis.opendocument.text';
const EPUB = 'application/epub+zip';

const media = openMedia({ textTimeoutMs: 25_000 });
afterAll(() => media.close());

const text = async (file: Buffer, type: string) => (await media.extractText('org', file, type)).text;
const failure = (file: Buffer, type: string) =>
  media.extractText('org', file, type).then(
    () => 'none',
    (error) => error.reason,
  );

describe('extracted text of', () => {
  test('a PDF', async () => {
    const file = await pdf([['First line', 'second line'], [], ['third page']], 'app.alert("x")');
    expect(await media.extractText('org', file, 'application/pdf')).toEqual({
      text: 'First line\nsecond line\n\nthird page',
      truncated: false,
      pages: 3,
      pageStarts: [0, 22, 24],
    });
  });

  test('a PDF in Japanese, without fonts', async () => {
    expect(await text(japanesePdf(), 'application/pdf')).toBe('日本語');
  });

  test('a Word document', async () => {
    const words = await text(await docx('One paragraph', 'and another'), WORD);
    expect(words).toMatch(/^One paragraph\n+and another\n+left cell\n+right cell$/);
  });

  test('a workbook', async () => {
    const file = xlsx({
      Budget: [['Name', 'Sum', 'Day', 'Paid'], ['Chairs', 12.5, new Date('2024-05-06T00:00:00Z'), true], []],
      Notes: [['at', new Date('2024-05-06T07:30:00Z')]],
    });
    expect(await media.extractText('org', file, SHEET)).toEqual({
      text: 'Budget\nName\tSum\tDay\tPaid\nChairs\t12.5\t2024-05-06\ttrue\n\nNotes\nat\t2024-05-06 07:30:00',
      truncated: false,
      pages: 2,
      pageStarts: [0, 54],
    });
  });

  test('slides, in their order', async () => {
    const slides = Array.from({ length: 11 }, (_, at) => `slide ${at + 1}`);
    const { text: words, pages, pageStarts } = await media.extractText('org', pptx(...slides), SLIDES);
    expect([pages, pageStarts?.length]).toEqual([11, 11]);
    expect(words.match(/^slide \d+$/gm)).toEqual(slides);
    expect(words.slice(pageStarts?.[1], pageStarts?.[2])).toMatch(/^slide 2\n[\s\S]*a note\n[\s\S]*end of a note\n\n$/);
    expect(words.match(/end of a note/g)).toHaveLength(1);
  });

  test('slides whose order differs from their names', async () => {
    const { text: words, pages, pageStarts } = await media.extractText('org', shuffledPptx(), SLIDES);
    const [first, last] = [words.indexOf('shown first'), words.indexOf('shown last')];
    expect([pages, first, last > first, words.includes('not shown')]).toEqual([2, 0, true, false]);
    expect(pageStarts).toEqual([first, last]);
  });

  test('an OpenDocument presentation', async () => {
    expect(
      await media.extractText('org', odp('one', '', 'three'), 'application/vnd.oasis.opendocument.presentation'),
    ).toEqual({
      text: 'one\n\nthree',
      truncated: false,
      pages: 3,
      pageStarts: [0, 3, 5],
    });
  });

  test('an OpenDocument text', async () => {
    expect(await text(odt('body'), ODT)).toBe('Heading\nbody\ttabbed');
  });

  test('a book, in the order of reading', async () => {
    const words = await text(epub('chapter one', 'chapter two', 'chapter three'), EPUB);
    expect(words.match(/chapter \w+/g)).toEqual(['chapter one', 'chapter two', 'chapter three']);
    expect(words).not.toContain('evil');
  });

  test('a page, without invisible parts', async () => {
    const page =
      '<title>Title</title><style>p{}</style><script>evil()</script><h1>Head</h1><p>a &amp; b<br>c<template>no</template><img alt="a cat"><table><tr><td>1<td>2</table>';
    expect(await text(Buffer.from(page), 'text/html; charset=utf-8')).toMatch(
      /^Title\s+Head\s+a & b\nc a cat\s+1\s+2$/,
    );
  });

  test('a page in its own charset', async () => {
    const page = Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.from('93fa967b8cea', 'hex')]);
    expect(await text(page, 'text/html')).toBe('日本語');
  });

  test('text in several charsets', async () => {
    const words = 'Die Grüße gehen über die Brücke, schöner Gruß für alle, natürlich';
    expect(await text(Buffer.from(words, 'latin1'), 'text/plain')).toBe(words);
    expect(await text(Buffer.from(`\ufeff${words}`, 'utf16le'), 'text/plain')).toBe(words);
    expect(await text(Buffer.from(words), 'text/markdown; charset=utf-8')).toBe(words);
    expect(await text(Buffer.from('a\0b\r\n\r\n\r\n\r\nc '), 'text/csv')).toBe('ab\n\nc');
  });

  test('an SVG and other XML', async () => {
    expect(await text(SVG_WITH_SCRIPT, 'image/svg+xml')).toBe('shown');
    expect(await text(Buffer.from('<a><b>x</b><b>y</b></a>'), 'application/atom+xml')).toBe('x\ny');
  });

  test('an empty file is empty', async () => {
    expect(await text(Buffer.alloc(0), 'text/plain')).toBe('');
    expect(await text(Buffer.alloc(0), 'text/html')).toBe('');
  });
});

describe('limits', () => {
  test('of characters', async () => {
    const file = await pdf(Array.from({ length: 5 }, (_, at) => [`page number ${at}`]));
    const { text: words, truncated, pages } = await media.extractText('org', file, 'application/pdf', { maxChars: 20 });
    expect([words.length <= 20, truncated, pages]).toEqual([true, true, 5]);
    expect(await media.extractText('org', Buffer.from('abcdef'), 'text/plain', { maxChars: 3 })).toEqual({
      text: 'abc',
      truncated: true,
    });
    expect((await media.extractText('org', Buffer.from('abc'), 'text/plain', { maxChars: 3 })).truncated).toBe(false);
  });

  test('of pages and of the file', async () => {
    const small = openMedia({ maxPages: 2, maxFileBytes: 100_000 });
    try {
      const pages = await small.extractText('org', await pdf([['one'], ['two'], ['three']]), 'application/pdf');
      expect(pages).toEqual({ text: 'one\n\ntwo', truncated: true, pages: 3, pageStarts: [0, 5] });
      await expect(small.extractText('org', Buffer.alloc(100_001), 'text/plain')).rejects.toMatchObject({
        reason: 'too_large',
      });
    } finally {
      await small.close();
    }
  });
});

describe('a file without readable text', () => {
  test.each<[string, () => Buffer | Promise<Buffer>, string, string]>([
    ['of another type', () => Buffer.from('x'), 'image/png', 'unsupported_type'],
    ['an invalid PDF', () => Buffer.from('%PDF-1.7\nnothing'), 'application/pdf', 'broken'],
    ['half a PDF', async () => (await pdf([['x']])).subarray(0, 300), 'application/pdf', 'broken'],
    ['a PDF with a password', encryptedPdf, 'application/pdf', 'encrypted'],
    ['an invalid Word document', () => Buffer.from('not a zip'), WORD, 'broken'],
    ['a ZIP that is not a Word document', () => zip({ a: 'b' }), WORD, 'broken'],
    ['half a Word document', async () => (await docx('x')).subarray(0, 2000), WORD, 'broken'],
    ['a Word document with a password', () => Buffer.from('d0cf11e0a1b11ae100000000', 'hex'), WORD, 'encrypted'],
    ['an invalid workbook', () => zip({ a: 'b' }), SHEET, 'broken'],
    ['a decompression bomb', bombDocx, WORD, 'suspicious'],
    ['a bomb that hides its size', lyingDocx, WORD, 'broken'],
    ['a bomb in another format', lyingOdt, ODT, 'broken'],
    ['an OpenDocument without content', () => zip({ a: 'b' }), ODT, 'broken'],
    ['a book without a package', () => zip({ a: 'b' }), EPUB, 'broken'],
    ['invalid XML', () => docxOf('<w:document><w:body'), WORD, 'broken'],
  ])('%s', async (_, make, type, reason) => {
    expect(await failure(await make(), type)).toBe(reason);
  });

  test('does not resolve growing entities', async () => {
    expect(await text(BILLION_LAUGHS, 'application/xml')).toMatch(/^before .{0,20} after$/);
    const inWord = BILLION_LAUGHS.toString().replace(
      /<lolz>.*/,
      '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&lol9;</w:t></w:r></w:p></w:body></w:document>',
    );
    const outcome = await media.extractText('org', docxOf(inWord), WORD).then(
      ({ text: words }) => words.length,
      (error) => error.reason,
    );
    expect(outcome === 'broken' || Number(outcome) < 20).toBe(true);
  });

  test('a PDF of endless pages ends', async () => {
    const outcome = await media.extractText('org', loopingPdf(), 'application/pdf').then(
      ({ text: words }) => words,
      (error) => error.reason,
    );
    expect(['', 'broken']).toContain(outcome);
  });

  test('fails for a missing path', async () => {
    await expect(media.extractText('org', '/nowhere/at/all', 'text/plain')).rejects.toMatchObject({ reason: 'broken' });
  });

  test('does not affect the next file', async () => {
    expect(await text(Buffer.from('fine'), 'text/plain')).toBe('fine');
  });
});

test('lists the types whose text can be extracted', () => {
  for (const type of ['text/x-python; charset=utf-8', 'application/ld+json', 'application/rss+xml', WORD])
    expect(isExtractable(type)).toBe(true);
  for (const type of ['image/png', 'application/zip', 'video/mp4', 'constructor', ''])
    expect(isExtractable(type)).toBe(false);
});
