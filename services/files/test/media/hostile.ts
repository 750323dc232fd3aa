import { crc32, deflateSync } from 'node:zlib';
import { docxOf, odt } from './office.js';

/** Files that attackers might send. */

export const SVG_WITH_SCRIPT = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(document.cookie)</script><text>shown</text></svg>',
);

const PNG_MARK = Buffer.from('89504e470d0a1a0a', 'hex');

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** Creates a grey PNG that declares this size, with the given data and a text chunk before it. */
export function png(
  width: number,
  height: number,
  data: Uint8Array = Buffer.alloc((width + 1) * height),
  text = '',
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const comment = text === '' ? [] : [chunk('tEXt', Buffer.from(`Comment\0${text}`, 'latin1'))];
  return Buffer.concat([
    PNG_MARK,
    chunk('IHDR', header),
    ...comment,
    chunk('IDAT', deflateSync(data)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Declares 2.5 billion pixels in some hundred bytes. */
export const HUGE_PNG = png(50_000, 50_000, Buffer.alloc(64));

/** An image that is also a page for software that ignores the signature. */
export const HTML_IN_PNG = Buffer.concat([
  png(4, 4, undefined, '<html><script>alert(1)</script>'),
  Buffer.from('<!doctype html><html><body><script>alert(1)</script></body></html>'),
]);

/** Ten entities, each of which expands to ten of the previous one: 10^9 words. */
export const BILLION_LAUGHS = Buffer.from(
  `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">${Array.from(
    { length: 9 },
    (_, at) => `<!ENTITY lol${at + 1} "${`&lol${at === 0 ? '' : at};`.repeat(10)}">`,
  ).join('')}]><lolz>before &lol9; after</lolz>`,
);

/** Creates a document of 20 KiB that unpacks to 20 MiB of spaces. */
export function bombDocx(): Buffer {
  return docxOf(Buffer.alloc(20 * 1024 * 1024, ' '));
}

const LOCAL_SIZE = { mark: 'PK\x03\x04', offset: 22 };
const CENTRAL_SIZE = { mark: 'PK\x01\x02', offset: 24 };

/** Returns the archive with a declared unpacked size of 1,000 bytes for one part. */
function lying(archive: Buffer, part: string): Buffer {
  const file = Buffer.from(archive);
  for (const { mark, offset } of [LOCAL_SIZE, CENTRAL_SIZE]) {
    const name = mark === LOCAL_SIZE.mark ? file.indexOf(part) : file.lastIndexOf(part);
    file.writeUInt32LE(1000, file.lastIndexOf(mark, name, 'latin1') + offset);
  }
  return file;
}

/** Creates a document of 4 MiB with a small declared size. */
export function lyingDocx(): Buffer {
  return lying(docxOf(Buffer.alloc(4 * 1024 * 1024, ' ')), 'word/document.xml');
}

export function lyingOdt(): Buffer {
  return lying(odt('words '.repeat(700_000)), 'content.xml');
}

/** Names that could break out of a header, a path or a log line. */
export const HOSTILE_NAMES = [
  'a"; filename="evil.html',
  'a\r\nSet-Cookie: session=1\r\n\r\n<script>alert(1)</script>',
  '../../etc/passwd',
  '..\\..\\windows\\win.ini',
  'photo\u202egnp.exe',
  'nul\0byte.png',
  '报告 «final».pdf',
  '\ud800broken.txt',
  '',
  '...',
];
