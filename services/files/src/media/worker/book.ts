import { Parser } from 'htmlparser2';
import { decode } from '../charset.js';
import { MediaFailure } from '../failure.js';
import { type Archive, openArchive } from './archive.js';
import { createCollector } from './collector.js';
import { addHtml } from './markup-text.js';
import { bounded } from './nesting.js';
import type { ReadText } from './read-text.js';

type Attributes = Readonly<Record<string, string>>;

async function elements(
  archive: Archive,
  part: string,
  each: (name: string, attributes: Attributes) => void,
): Promise<void> {
  const xml = await archive.read(part);
  if (xml === undefined) throw new MediaFailure('broken', `the book has no ${part}`);
  const parser = new Parser(bounded({ onopentag: (name, attributes) => each(name.replace(/^.*:/, ''), attributes) }), {
    xmlMode: true,
  });
  parser.end(decode(xml));
}

/** Resolves a reference from one part to another. */
function resolve(href: string, from: string): string {
  try {
    return decodeURIComponent(new URL(href, `x://x/${from}`).pathname.slice(1));
  } catch {
    return href;
  }
}

/** Returns the chapters of a book in reading order. */
async function chaptersOf(archive: Archive): Promise<string[]> {
  let packageFile = '';
  await elements(archive, 'META-INF/container.xml', (name, attributes) => {
    if (name === 'rootfile' && packageFile === '') packageFile = attributes['full-path'] ?? '';
  });
  const parts = new Map<string, string>();
  const order: string[] = [];
  await elements(archive, packageFile, (name, attributes) => {
    if (name === 'item') parts.set(attributes.id ?? '', resolve(attributes.href ?? '', packageFile));
    if (name === 'itemref') order.push(attributes.idref ?? '');
  });
  return order.flatMap((id) => parts.get(id) ?? []);
}

/** Extracts the text of an EPUB, chapter by chapter. */
export const readBook: ReadText = async (file, limits) => {
  const archive = await openArchive(file, limits);
  const chapters = await chaptersOf(archive);
  const encryption = (await archive.read('META-INF/encryption.xml'))?.toString('utf8') ?? '';
  if (chapters.some((part) => encryption.includes(`"${part}"`)))
    throw new MediaFailure('encrypted', 'the book is encrypted');
  const out = createCollector(limits.maxChars);
  for (const part of chapters.slice(0, limits.maxPages)) {
    const page = out.isFull ? undefined : await archive.read(part);
    if (page !== undefined) addHtml(page, out);
    out.add('\n\n');
  }
  return out.end(chapters.length > limits.maxPages);
};
