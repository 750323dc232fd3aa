import { dictionary } from '@commonplace/kit/dictionary';
import { decode } from '../charset.js';
import { MediaFailure } from '../failure.js';
import { openArchive } from './archive.js';
import { createCollector } from './collector.js';
import { addMarkup, type MarkupRules } from './markup-text.js';
import type { ReadText } from './read-text.js';

const OPENED: Readonly<Record<string, string>> = dictionary({
  'text:s': ' ',
  'text:tab': '\t',
  'text:line-break': '\n',
});
const CLOSED: Readonly<Record<string, string>> = dictionary({
  'text:p': '\n',
  'text:h': '\n',
  'table:table': '\n',
});
/** Deleted text, and content that programs without scripting show. */
const UNSEEN = new Set(['text:tracked-changes', 'office:scripts', 'office:event-listeners']);

/** Element of a slide of a presentation, or of a page of a drawing. */
const PAGE = 'draw:page';

const CONTENT: MarkupRules = {
  xml: true,
  unseen: (name) => UNSEEN.has(name),
  opened: (name) => OPENED[name] ?? '',
  closed: (name) => CLOSED[name] ?? '',
};

/** Extracts the text of an OpenDocument file: text, spreadsheet or presentation. */
export const readOpenDocument: ReadText = async (file, limits) => {
  const archive = await openArchive(file, limits);
  const manifest = await archive.read('META-INF/manifest.xml');
  if (manifest?.includes('encryption-data')) throw new MediaFailure('encrypted', 'the document is encrypted');
  const content = await archive.read('content.xml');
  if (content === undefined) throw new MediaFailure('broken', 'the document has no content');
  const out = createCollector(limits.maxChars);
  let pages = 0;
  const closed = (name: string): string => {
    if (name === PAGE) {
      pages++;
      out.endPage();
    }
    return CONTENT.closed(name);
  };
  addMarkup(decode(content), out, { ...CONTENT, closed });
  const read = out.end();
  // The number of pages is unknown if the text was truncated.
  return pages > 0 && !read.truncated ? { ...read, pages } : read;
};
