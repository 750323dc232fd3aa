import { isOutside } from '../common/links.js';
import { isLitter, stemOf } from '../common/paths.js';
import { rememberLast } from '../common/remember-last.js';
import { cleanName } from '../common/text.js';
import { loadHtml } from '../html/dom.js';
import { sectionItems, sectionOf, splitSections, wholePath } from '../html/split.js';
import { ImportFault, type OpenSource, type SourceItem } from '../port.js';
import { imageItems, openPart, readWord, type WordDocument } from './word.js';

/**
 * Opens a Word document: its text as a document, its images as files below it. It is converted on opening, because only
 * the conversion finds its images.
 */
export const openDocxSource: OpenSource = async (bundle, options) => {
  await loadHtml();
  const entries = bundle.entries.filter(({ path }) => !isLitter(path));
  const entry = entries.find(({ path }) => /\.do[ct][xm]$/i.test(path)) ?? entries[0];
  if (entry === undefined) throw new ImportFault('no_pages', 'The source contains no Word document.');
  const { path } = entry;
  const fileName = options.fileName === undefined ? undefined : cleanName(stemOf(options.fileName));
  const first = await readWord(bundle, path);
  const document: SourceItem = { path, kind: 'document', name: fileName ?? cleanName(stemOf(path)) };
  const sectionsIn = rememberLast(splitSections);
  const sections = options.splitHeadings === true ? sectionItems(document, sectionsIn(first.content.html ?? '')) : [];
  // Kept until it is read for the first time; a retry converts the file again.
  let held: WordDocument | undefined = first;

  async function content() {
    const { content: whole } = held ?? (await readWord(bundle, path));
    if (sections.length === 0) held = undefined;
    const named = whole.metadata?.title;
    const title = whole.title ?? fileName ?? (typeof named === 'string' ? named : undefined);
    return { ...whole, title };
  }

  return {
    items: [document, ...sections, ...imageItems(path, first.images)],
    skipped: entries
      .filter((other) => other !== entry)
      .map((other) => ({ path: other.path, code: 'not_imported', message: 'An import of a document takes one file.' })),
    async read(item) {
      if (item.kind !== 'document') return {};
      if (sections.length === 0) return content();
      const whole = await content();
      return sectionOf(item, whole, sectionsIn(whole.html ?? ''));
    },
    openFile: (item) => openPart(bundle, path, item.path.slice(path.length + 1)),
    resolve(from, href) {
      if (isOutside(href)) return { outside: true };
      if (/^\s*(?:#|$)/.test(href)) return { item: wholePath(from.path) };
      return first.images.some(({ name }) => name === href) ? { item: `${path}/${href}` } : { broken: true };
    },
  };
};
