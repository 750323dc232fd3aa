import { type Zippable, zipSync } from 'fflate';
import { sentence } from '../fill.js';

/** An archive like that of a handbook, and the expected result of its import. */
export interface Archive {
  readonly zip: Buffer;
  /** Texts of pages by path. Links are written as `{path}`. */
  readonly pages: ReadonlyMap<string, string>;
  readonly images: readonly string[];
  readonly folders: readonly string[];
}

const FOLDERS = 12;
const IMAGES = 24;

/** Creates an archive of `count` pages. Each has an image and links to three other pages. */
export function createArchive(count: number): Archive {
  const folders = Array.from({ length: FOLDERS }, (_, i) => `part-${i}`);
  const pathOf = (i: number) => `${folders[i % FOLDERS]}/page-${i}.md`;
  const imageOf = (i: number) => `${folders[i % FOLDERS]}/image-${i}.svg`;
  const images = Array.from({ length: Math.min(IMAGES, count) }, (_, i) => imageOf(i));
  const pages = new Map<string, string>();
  const files: Zippable = {};
  for (let i = 0; i < count; i++) {
    const targets = [1, 7, 31].map((step) => pathOf((i + step) % count));
    const links = [...targets, images[i % images.length] as string].map((path, at) => `[link ${at}]({${path}})`);
    const text = `# Page ${i}\n\n${sentence(i, 120)}\n\n${links.join('\n\n')}\n`;
    pages.set(pathOf(i), text);
    files[pathOf(i)] = Buffer.from(text.replace(/\{([^}]+)\}/g, '../$1'));
  }
  for (const [i, path] of images.entries()) {
    files[path] = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" id="i${i}"/>`);
  }
  return { zip: Buffer.from(zipSync(files)), pages, images, folders };
}
