import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';
import mammoth from 'mammoth';
import { decode } from '../charset.js';
import { MediaFailure } from '../failure.js';
import type { PageTask, WordImage, WordPage } from '../protocol.js';
import { type Archive, checkArchive, openArchive } from './archive.js';
import { bytesOf } from './bytes.js';
import { createCollector } from './collector.js';
import { addMarkup, type MarkupRules } from './markup-text.js';
import { bounded } from './nesting.js';

/** Styles of Word and LibreOffice with a meaning, other than headings and lists, which mammoth handles itself. */
const STYLES = [
  "p[style-name='Title'] => h1.title:fresh",
  "p[style-name='Subtitle'] => p.subtitle:fresh",
  "p[style-name='Quote'] => blockquote > p:fresh",
  "p[style-name='Intense Quote'] => blockquote > p:fresh",
  "p[style-name='Block Text'] => blockquote > p:fresh",
  "p[style-name='Quotations'] => blockquote > p:fresh",
  "p[style-name='HTML Preformatted'] => pre:separator('\\n')",
  "p[style-name='Preformatted Text'] => pre:separator('\\n')",
  "p[style-name='Plain Text'] => pre:separator('\\n')",
  "p[style-name='Source Code'] => pre:separator('\\n')",
  "p[style-name='Code'] => pre:separator('\\n')",
  "r[style-name='HTML Code'] => code",
  "r[style-name='Source Text'] => code",
  "r[style-name='Verbatim Char'] => code",
  'u => u',
  'highlight => mark',
];

/** Characters of HTML beyond which a document is refused, because a page may not hold more. */
const MAX_HTML = 12 * 1024 * 1024;
const IMAGE_PART = /^word\/media\/[^/]+$/;

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Returns a function that finds the part of an image by comparing bytes, because mammoth does not report the part. */
function imageFinder(archive: Archive) {
  let parts: Map<string, string> | undefined;
  return async (bytes: Uint8Array): Promise<WordImage | undefined> => {
    if (parts === undefined) {
      parts = new Map();
      for (const name of archive.names.filter((part) => IMAGE_PART.test(part))) {
        const part = digest((await archive.read(name)) ?? Buffer.alloc(0));
        if (!parts.has(part)) parts.set(part, name);
      }
    }
    const name = parts.get(digest(bytes));
    return name === undefined ? undefined : { name, sizeBytes: bytes.byteLength };
  };
}

async function propertiesOf(archive: Archive): Promise<Record<string, string>> {
  const part = await archive.read('docProps/core.xml');
  const properties: Record<string, string> = {};
  let open = '';
  const parser = new Parser(
    bounded({
      onopentag: (name) => {
        open = name.replace(/^.*:/, '');
      },
      ontext: (text) => {
        if (open !== '' && open !== 'coreProperties') properties[open] = (properties[open] ?? '') + text;
      },
      onclosetag: () => {
        open = '';
      },
    }),
    { xmlMode: true },
  );
  parser.end(part === undefined ? '' : decode(part));
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value.trim() !== ''));
}

const XML: MarkupRules = {
  xml: true,
  unseen: (name) => name === 'w:instrText',
  closed: (name) => (name === 'w:p' ? '\n' : ''),
};

/** Returns the text of headers and footers, which appear on every page and belong to none. */
async function headersOf(archive: Archive): Promise<string> {
  const out = createCollector(2000);
  for (const name of archive.names.filter((part) => /^word\/(?:header|footer)\d*\.xml$/.test(part))) {
    const part = await archive.read(name);
    if (part !== undefined) addMarkup(decode(part), out, XML);
  }
  return out.end().text;
}

async function commentsOf(archive: Archive): Promise<number> {
  const part = await archive.read('word/comments.xml');
  return part === undefined ? 0 : (decode(part).match(/<w:comment[ >]/g)?.length ?? 0);
}

/** Converts a Word document to HTML that names images by their parts. */
export async function readPage({ source, limits }: PageTask): Promise<WordPage> {
  const file = await bytesOf(source);
  await checkArchive(file, limits);
  const archive = await openArchive(file, limits);
  if (!archive.names.includes('[Content_Types].xml'))
    throw new MediaFailure('broken', 'the file is not a Word document');
  const partOf = imageFinder(archive);
  const images = new Map<string, WordImage>();
  const { value, messages } = await mammoth.convertToHtml(
    { buffer: file },
    {
      styleMap: STYLES,
      idPrefix: 'fn-',
      convertImage: mammoth.images.imgElement(async (image) => {
        const part = await partOf(await image.readAsBuffer());
        if (part !== undefined) images.set(part.name, part);
        return { src: part?.name ?? '' };
      }),
    },
  );
  if (value.length > MAX_HTML)
    throw new MediaFailure('too_large', `the document has more than ${MAX_HTML} bytes of HTML`);
  return {
    html: value,
    images: [...images.values()],
    properties: await propertiesOf(archive),
    messages: messages.map(({ message }) => message),
    beside: { comments: await commentsOf(archive), headers: await headersOf(archive) },
  };
}
