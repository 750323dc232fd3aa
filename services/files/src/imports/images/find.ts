import { imagesInHtml } from '../domain/html-links.js';
import { imagesInMarkdown } from '../domain/markdown-links.js';
import { frontMatterLength } from '../sources/markdown/front-matter.js';
import { ImportFault, type ItemContent, type Source, type SourceItem } from '../sources/port.js';

/** An image at another place of the web, and the first page that shows it. */
export interface RemoteImage {
  readonly url: string;
  readonly page: SourceItem;
}

/** The images at other places of the web that the pages of a source show, each once, in the order of the pages. */
export async function findRemoteImages(source: Source, most: number, stopped: () => void): Promise<RemoteImage[]> {
  const found = new Map<string, RemoteImage>();
  for (const page of source.items) {
    if (page.kind !== 'document') continue;
    stopped();
    for (const src of imagesIn(await contentOf(source, page))) {
      const url = src.split('#')[0] as string;
      if (/^https?:\/\//i.test(url) && URL.canParse(url) && !found.has(url)) found.set(url, { url, page });
      if (found.size >= most) return [...found.values()];
    }
  }
  return [...found.values()];
}

function imagesIn({ markdown, html }: ItemContent): string[] {
  if (markdown !== undefined) return imagesInMarkdown(markdown, frontMatterLength(markdown));
  return html === undefined ? [] : imagesInHtml(html);
}

/** What can't be read is told when it is its turn. */
async function contentOf(source: Source, page: SourceItem): Promise<ItemContent> {
  try {
    return await source.read(page);
  } catch (error) {
    if (error instanceof ImportFault) return {};
    throw error;
  }
}
