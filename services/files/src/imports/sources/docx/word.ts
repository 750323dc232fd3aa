import type { Readable } from 'node:stream';
import { lazyLibrary } from '@commonplace/kit/library';
import type { WordImage, WordPage } from '../../../media/protocol.js';
import { fitMetadata } from '../common/metadata.js';
import { faultOf, parser } from '../common/parser.js';
import { nameOf } from '../common/paths.js';
import { momentOf, oneLine } from '../common/text.js';
import { createLosses, type Losses } from '../common/warnings.js';
import { cleanHtml, type Rule } from '../html/clean.js';
import { hasClass, isElement, parseTree, textOf } from '../html/dom.js';
import { type Bundle, ImportFault, type ItemContent, type SourceItem } from '../port.js';

/** Bytes beyond which a document is refused, because its archive is held in memory as a whole. */
const MAX_DOCUMENT_BYTES = 128 * 1024 * 1024;

const zip = lazyLibrary<typeof import('yauzl')>('yauzl', import.meta.url);

/** Holds a document, and the parts of it that become files. */
export interface WordDocument {
  readonly content: ItemContent;
  readonly images: readonly WordImage[];
}

/** Counts as losses what the converter reports as not understood, unless nothing visible is lost. */
function countLosses(page: WordPage, losses: Losses): void {
  for (const message of page.messages) {
    const element = /unrecognised element was ignored: (\S+)/i.exec(message)?.[1];
    if (element === 'm:oMath' || element === 'm:oMathPara') losses.add('A formula is left out');
    else if (element !== undefined) losses.add(`A Word element (${element}) is left out`);
    else if (!/style|numbering/i.test(message)) losses.add(message.slice(0, 200));
  }
  losses.add('A comment is left out', page.beside.comments);
  if (page.beside.headers !== '')
    losses.add(`Headers and footers are left out: ${oneLine(page.beside.headers).slice(0, 200)}`);
}

const rule: Rule = (element, losses) => {
  if (element.name !== 'img' || element.attributes.src !== '') return undefined;
  losses.add('An image outside of the document is left out');
  return 'drop';
};

/** Converts a Word page to an item's content. A first paragraph in the style Title becomes the title. */
function contentOf(page: WordPage): ItemContent {
  const { title, subject, creator, keywords, description, category, language, lastModifiedBy } = page.properties;
  const root = parseTree(page.html);
  const first = root.children.findIndex((node) => textOf(node) !== '' || isElement(node));
  const head = root.children[first];
  const titled = isElement(head) && hasClass(head, 'title') ? textOf(head) : '';
  const nodes = titled === '' ? root.children : root.children.filter((_, at) => at !== first);
  const losses = createLosses();
  const { html } = cleanHtml(nodes, rule, losses);
  countLosses(page, losses);
  const words = keywords?.split(/[,;]/).flatMap((word) => word.trim() || []);
  const { metadata } = fitMetadata({
    title,
    subject,
    author: creator,
    keywords: words?.length ? words : undefined,
    category,
    language,
    last_modified_by: lastModifiedBy,
  });
  return {
    title: titled || undefined,
    html,
    metadata,
    description: description === undefined ? undefined : oneLine(description).slice(0, 2000),
    author: creator,
    createdAt: momentOf(page.properties.created),
    updatedAt: momentOf(page.properties.modified),
    warnings: losses.list(),
  };
}

/** Reads a Word document from an entry, in a separate process. Rejects with an `ImportFault`. */
export async function readWord(bundle: Bundle, path: string): Promise<WordDocument> {
  try {
    const page = await parser().readPage(bundle.tenant ?? '', await bundle.read(path, MAX_DOCUMENT_BYTES));
    return { content: contentOf(page), images: page.images };
  } catch (error) {
    throw faultOf(error, path);
  }
}

/** Returns the items of a document's images; their paths are those of the document and the part. */
export function imageItems(path: string, images: readonly WordImage[]): SourceItem[] {
  return images.map(({ name, sizeBytes }) => ({
    path: `${path}/${name}`,
    parent: path,
    kind: 'file',
    name: nameOf(name),
    sizeBytes,
  }));
}

/** Streams a part of a document. It rejects a part that unpacks to more than its directory says. */
export async function openPart(bundle: Bundle, path: string, part: string): Promise<Readable> {
  const file = await bundle.read(path, MAX_DOCUMENT_BYTES);
  const archive = await zip().fromBufferPromise(file, { lazyEntries: true, validateEntrySizes: true });
  for await (const entry of archive.eachEntry()) {
    if (entry.fileName === part) return archive.openReadStreamPromise(entry);
  }
  throw new ImportFault('missing_file', `${path} has no part ${part}.`);
}
