import { rememberLast } from '../common/remember-last.js';
import * as html from '../html/split.js';
import * as markdown from '../markdown/split.js';
import type { ItemContent, OpenSource, Source, SourceItem } from '../port.js';

/** Lets a source split its documents at their headings of level 1 on request, each section into a document below. */
export const splitting =
  (open: OpenSource): OpenSource =>
  async (bundle, options) => {
    const source = await open(bundle, options);
    return options.splitHeadings === true ? splitDocuments(source) : source;
  };

/** Adds the items of sections after their document. A document that cannot be read has none. */
async function splitDocuments(source: Source): Promise<Source> {
  const divided = rememberLast(async (document: SourceItem) => divide(await source.read(document)));
  /** The documents of sections, by the paths of these. */
  const documents = new Map<string, SourceItem>();
  const items: SourceItem[] = [];
  for (const item of source.items) {
    items.push(item);
    if (item.kind !== 'document') continue;
    const sections = await divided(item).then(
      ({ itemsBelow }) => itemsBelow(item),
      () => [],
    );
    for (const { path } of sections) documents.set(path, item);
    items.push(...sections);
  }
  return {
    ...source,
    items,
    async read(item) {
      if (item.kind !== 'document') return source.read(item);
      return (await divided(documents.get(item.path) ?? item)).contentOf(item);
    },
    resolve(from, href) {
      if (/^\s*(?:#|$)/.test(href)) return { item: from.path };
      return source.resolve(documents.get(from.path) ?? from, href);
    },
  };
}

/** A document with its sections. */
interface Divided {
  itemsBelow(document: SourceItem): readonly SourceItem[];
  /** Returns the content of the document itself, or that of a section. */
  contentOf(item: SourceItem): ItemContent;
}

function divide(content: ItemContent): Divided {
  if (content.html !== undefined) {
    const sections = html.splitSections(content.html);
    return {
      itemsBelow: (document) => html.sectionItems(document, sections),
      contentOf: (item) => html.sectionOf(item, content, sections),
    };
  }
  const sections = markdown.splitPage(content.markdown ?? '');
  return {
    itemsBelow: (document) => markdown.sectionItems(document, sections),
    contentOf: (item) => markdown.sectionOf(item, content, sections),
  };
}
