import { describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { isActive, mayInline, servedType, sniff } from '../../src/media/index.js';
import { BILLION_LAUGHS, HTML_IN_PNG, HUGE_PNG, png, SVG_WITH_SCRIPT } from './hostile.js';
import { docx, epub, odt, pptx, xlsx, zip } from './office.js';
import { pdf } from './pdfs.js';

const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const SHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const SLIDES = 'application/vnd.openxmlformats-officedocument.presentationml.presentation';

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('type detected from the content', () => {
  test.each<[string, Buffer, string, string | undefined, string]>([
    ['a PNG', png(2, 2), 'a.png', undefined, 'image/png'],
    ['a PNG named like a page', png(2, 2), 'a.html', 'text/html', 'image/png'],
    ['a page in a PNG', HTML_IN_PNG, 'a.html', 'text/html', 'image/png'],
    ['a huge PNG', HUGE_PNG, 'x', undefined, 'image/png'],
    [
      'a page that is called a picture',
      Buffer.from('  <!DOCTYPE html><p>x'),
      'a.png',
      'image/png',
      'text/html; charset=utf-8',
    ],
    ['a page behind a comment', Buffer.from('<!-- x --> <html>'), 'a.txt', 'text/plain', 'text/html; charset=utf-8'],
    ['a script element', Buffer.from('<script>alert(1)</script>'), 'a.md', 'text/markdown', 'text/html; charset=utf-8'],
    ['a page in UTF-16', utf16('<html><script>1</script>'), 'a.jpg', 'image/jpeg', 'text/html; charset=utf-16le'],
    [
      'some markup without a name',
      Buffer.from('<b onclick=alert(1)>x</b>'),
      'notes',
      undefined,
      'text/html; charset=utf-8',
    ],
    [
      'Markdown that starts with markup',
      Buffer.from('<p align="center">Logo</p>\n\n# Title'),
      'README.md',
      undefined,
      'text/markdown; charset=utf-8',
    ],
    ['an SVG', SVG_WITH_SCRIPT, 'a.png', 'image/png', 'image/svg+xml; charset=utf-8'],
    [
      'an SVG behind its prologue',
      Buffer.from('<?xml version="1.0"?><!-- x --><!DOCTYPE svg [<!ENTITY a "b">]><svg/>'),
      'a.txt',
      undefined,
      'image/svg+xml; charset=utf-8',
    ],
    [
      'XHTML',
      Buffer.from('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'),
      'a.txt',
      undefined,
      'application/xhtml+xml; charset=utf-8',
    ],
    ['XML', BILLION_LAUGHS, 'a.txt', 'text/plain', 'application/xml; charset=utf-8'],
    ['a PDF behind other bytes', Buffer.from('junk\n%PDF-1.7\n'), 'a.txt', 'text/plain', 'application/pdf'],
    [
      'an archive of a page',
      Buffer.from('MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n'),
      'a.txt',
      undefined,
      'multipart/related',
    ],
    ['text', Buffer.from('Grüße'), 'a', undefined, 'text/plain; charset=utf-8'],
    [
      'text in Latin-1',
      Buffer.from('Die Grüße gehen über die Brücke, schöner Gruß für alle, natürlich', 'latin1'),
      'a.txt',
      undefined,
      'text/plain; charset=windows-1252',
    ],
    [
      'text that starts as a bitmap would',
      Buffer.from('BMW builds cars'),
      'a.txt',
      undefined,
      'text/plain; charset=utf-8',
    ],
    ['CSV', Buffer.from('a,b\n1,2\n'), 'a.CSV', undefined, 'text/csv; charset=utf-8'],
    ['JSON', Buffer.from('{"a":1}'), 'a.json', undefined, 'application/json'],
    ['JSON by declaration', Buffer.from('{"a":1}'), 'a', 'application/json; charset=utf-8', 'application/json'],
    ['text named like a page', Buffer.from('hello'), 'a.html', 'text/plain', 'text/html; charset=utf-8'],
    ['text declared as an image', Buffer.from('hello'), 'a', 'image/png', 'text/plain; charset=utf-8'],
    [
      'bytes that are declared a picture',
      Buffer.from([0, 1, 2, 3, 0, 5]),
      'a.png',
      'image/png',
      'application/octet-stream',
    ],
    [
      'bytes that are declared a page',
      Buffer.from([0, 1, 2, 3, 0, 5]),
      'a.html',
      'text/html',
      'application/octet-stream',
    ],
    [
      'bytes of a declared format',
      Buffer.from([0, 1, 2, 3, 0, 5]),
      'a',
      'application/vnd.acme',
      'application/vnd.acme',
    ],
    ['an invalid declared type', Buffer.from([0, 5, 5, 5]), 'a', 'x\r\nSet-Cookie: a=b', 'application/octet-stream'],
    ['text with a stray control', Buffer.from('# A\u0003 title'), 'a.md', undefined, 'text/markdown; charset=utf-8'],
    ['a page with a stray control', Buffer.from('<html>\u0003'), 'a.txt', undefined, 'text/html; charset=utf-8'],
    ['an image named like text', png(2, 2), 'a.txt', undefined, 'image/png'],
    ['nothing', Buffer.alloc(0), 'a.png', 'image/png', 'text/plain; charset=utf-8'],
    ['a ZIP', zip({ 'a.txt': 'x' }), 'a.docx.zip', undefined, 'application/zip'],
  ])('%s', async (_, bytes, name, declared, expected) => {
    expect(await sniff(bytes, name, declared)).toBe(expected);
  });

  test('of office documents', async () => {
    expect(await sniff(await docx('x'), 'a.docx')).toBe(WORD);
    expect(await sniff(xlsx({ S: [['x']] }), 'a.xlsx')).toBe(SHEET);
    expect(await sniff(pptx('x'), 'a.pptx')).toBe(SLIDES);
    expect(await sniff(odt('x'), 'a.odt')).toBe('application/vnd.oasis.opendocument.text');
    expect(await sniff(epub('x'), 'a.epub')).toBe('application/epub+zip');
    expect(await sniff(await pdf([['x']]), 'a.png', 'image/png')).toBe('application/pdf');
  });

  test('of other image formats', async () => {
    const picture = sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } });
    for (const format of ['jpeg', 'webp', 'gif', 'avif', 'tiff'] as const)
      expect(await sniff(await picture.clone().toFormat(format).toBuffer(), 'a.txt')).toBe(`image/${format}`);
  });
});

describe('inline display', () => {
  test('is refused for types that can script', () => {
    for (const type of [
      'text/html; charset=utf-8',
      'IMAGE/SVG+XML',
      'application/xhtml+xml',
      'application/xml',
      'text/xml',
      'application/atom+xml',
      'application/pdf',
      'multipart/related',
      'text/javascript',
      'not a type',
      '',
    ]) {
      expect([type, isActive(type), mayInline(type)]).toEqual([type, true, false]);
      expect(servedType(type, 'inline')).toBe('application/octet-stream');
    }
  });

  test('is allowed for images and text, which is shown as plain text', () => {
    for (const type of ['image/png', 'image/jpeg', 'image/webp', 'text/plain', 'text/markdown', 'application/json'])
      expect([type, isActive(type), mayInline(type)]).toEqual([type, false, true]);
    expect(servedType('image/png', 'inline')).toBe('image/png');
    expect(servedType('text/markdown; charset=shift_jis', 'inline')).toBe('text/plain; charset=shift_jis');
    expect(servedType('application/json', 'inline')).toBe('text/plain; charset=utf-8');
    expect(servedType('application/json', 'attachment')).toBe('application/json');
    expect(servedType('text/csv; charset=utf-8', 'attachment')).toBe('text/csv; charset=utf-8');
    expect(servedType('text/csv; a=b\r\nX-Evil: 1', 'attachment')).toBe('text/csv');
    expect(servedType('text/x-python', 'inline')).toBe('text/plain; charset=utf-8');
  });

  test('is refused for unknown types', () => {
    expect(mayInline('application/octet-stream')).toBe(false);
    expect(mayInline('application/vnd.acme')).toBe(false);
    expect(mayInline('video/mp4')).toBe(false);
  });
});
