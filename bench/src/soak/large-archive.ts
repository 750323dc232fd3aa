import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Zip, ZipDeflate, ZipPassThrough } from 'fflate';

/** The size of a large archive. */
export interface LargeArchive {
  readonly pages: number;
  readonly images: number;
  readonly folders: number;
  readonly bytes: number;
}

/** Approximate size of a page in bytes. Below, that of an image. 50,000 pages with their images have 2 GB. */
const PAGE_BYTES = 34_000;
const IMAGE_BYTES = 240_000;
/** Number of pages per image and, below, per folder. */
const PAGES_AN_IMAGE = 33;
const PAGES_A_FOLDER = 250;
/** Every how many pages one is compressed. The others are stored, so that the archive is as large as its pages. */
const PACKED = 10;

/** Writes an archive of `pages` pages to a file, with images that they show and links between them. */
export async function writeLargeArchive(path: string, pages: number): Promise<LargeArchive> {
  const out = createWriteStream(path, { flags: 'wx' });
  const zip = new Zip((error, chunk) => {
    if (error) out.destroy(error);
    else out.write(chunk);
  });
  const write = createWriter();
  const folders = Math.ceil(pages / PAGES_A_FOLDER);
  const folderOf = (i: number) => `part-${Math.floor(i / PAGES_A_FOLDER)}`;
  let images = 0;
  for (let i = 0; i < pages; i++) {
    const image = Math.floor(i / PAGES_AN_IMAGE) * PAGES_AN_IMAGE;
    const next = (i + PAGES_A_FOLDER) % pages;
    const links = `![A picture](../${folderOf(image)}/image-${image}.png)\n\n[Next](../${folderOf(next)}/page-${next}.md)`;
    if (i === image) {
      add(zip, new ZipPassThrough(`${folderOf(i)}/image-${i}.png`), Buffer.concat([PNG, randomBytes(IMAGE_BYTES)]));
      images++;
    }
    const name = `${folderOf(i)}/page-${i}.md`;
    const file = i % PACKED === 0 ? new ZipDeflate(name, { level: 1 }) : new ZipPassThrough(name);
    add(zip, file, Buffer.from(`# Page ${i}\n\n${links}\n\n${write(PAGE_BYTES)}`));
    if (out.writableNeedDrain) await once(out, 'drain');
  }
  zip.end();
  out.end();
  await finished(out);
  return { pages, images, folders, bytes: out.bytesWritten };
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d4948445200000100000001000802000000', 'hex');

function add(zip: Zip, file: ZipPassThrough | ZipDeflate, bytes: Uint8Array): void {
  zip.add(file);
  file.push(bytes, true);
}

const SYLLABLES = 'ba co di fu ga he ki lo mi na po qui re sa ti vo wen xa yo zu bri cla dro ster'.split(' ');
/** Number of distinct words. As in natural language, a few of them make up most of a text. */
const WORDS = 30_000;
const WORDS_A_PARAGRAPH = 80;
/** Number of distinct paragraphs of which texts consist. */
const PARAGRAPHS = 5_000;

/**
 * Returns a function that generates texts of about `bytes` bytes, in paragraphs with headings. The texts are the same
 * in every run.
 */
function createWriter(): (bytes: number) => string {
  let seed = 1;
  const next = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const word = () => Array.from({ length: 1 + next(4) }, () => SYLLABLES[next(SYLLABLES.length)]).join('');
  const words = Array.from({ length: WORDS }, word);
  const often = () => words[Math.floor((next(1_000_000) / 1_000_000) ** 4 * WORDS)] as string;
  const paragraph = () => `${Array.from({ length: WORDS_A_PARAGRAPH }, often).join(' ')}.\n\n`;
  const paragraphs = Array.from({ length: PARAGRAPHS }, paragraph);
  return (bytes) => {
    let text = '';
    for (let at = 0; text.length < bytes; at++) {
      if (at % 6 === 0) text += `## About ${often()} and ${often()}\n\n`;
      text += paragraphs[next(PARAGRAPHS)];
    }
    return text;
  };
}
