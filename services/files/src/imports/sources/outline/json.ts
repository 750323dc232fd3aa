import { isObject } from '@commonplace/kit/json';
import { pathsOf } from '../common/links.js';
import { isLitter, nameOf } from '../common/paths.js';
import { cleanName, momentOf, parseJson, readText } from '../common/text.js';
import type { SkippedEntry } from '../common/tree.js';
import { createLosses } from '../common/warnings.js';
import { type Bundle, ImportFault, type ItemContent, type Source, type SourceItem } from '../port.js';
import { prosemirrorHtml } from './prosemirror.js';

/** Bytes beyond which a collection is refused, because it is read into memory as a whole. */
const MAX_COLLECTION_BYTES = 96 * 1024 * 1024;

type Facts = Record<string, unknown>;

interface Collection {
  readonly collection: Facts;
  readonly documents: Readonly<Record<string, Facts>>;
  readonly attachments: Readonly<Record<string, Facts>>;
}

const word = (value: unknown): string => (typeof value === 'string' ? value : '');
const recordsOf = (value: unknown): Record<string, Facts> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter((entry): entry is [string, Facts] => isObject(entry[1])),
  );

async function readCollection(bundle: Bundle, path: string): Promise<Collection | undefined> {
  const value = parseJson(await readText(bundle, path, MAX_COLLECTION_BYTES), 'invalid_json', path);
  if (!isObject(value) || !isObject(value.collection) || !isObject(value.documents)) return undefined;
  return {
    collection: value.collection,
    documents: recordsOf(value.documents),
    attachments: recordsOf(value.attachments),
  };
}

/**
 * Holds the contents of an export as found on opening. Only ids are kept; texts are read again, one collection at a
 * time.
 */
interface ExportContents {
  readonly items: SourceItem[];
  readonly skipped: SkippedEntry[];
  /** Items by the ids, URL ids and attachment ids that links use. */
  readonly byId: Map<string, string>;
  /** Entries that are items already. */
  readonly files: Set<string>;
}

const hasText = (data: unknown): boolean =>
  prosemirrorHtml(data)
    .replace(/<(?!img)[^>]*>/g, '')
    .trim() !== '';

function addCollection(
  path: string,
  found: ExportContents,
  { collection, documents, attachments }: Collection,
  entries: ReadonlySet<string>,
): void {
  const { items, byId, files } = found;
  const kind = hasText(collection.data) ? 'document' : 'folder';
  items.push({ path, kind, name: cleanName(word(collection.name)), externalId: word(collection.id) || undefined });
  for (const id of [collection.id, collection.urlId]) if (word(id) !== '') byId.set(word(id), path);
  const placed = new Set<string>();

  function addDocument(id: string, parent: string): void {
    const document = documents[id];
    if (document === undefined || placed.has(id)) return;
    placed.add(id);
    const item = `${path}#${id}`;
    items.push({ path: item, parent, kind: 'document', name: cleanName(word(document.title)), externalId: id });
    for (const name of [id, word(document.urlId)]) if (name !== '') byId.set(name, item);
  }

  // The document structure determines order and parents; a document that it omits goes below its own parent.
  const open = structureOf(collection.documentStructure, path).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    addDocument(next.id, next.parent);
    for (const child of structureOf(next.children, `${path}#${next.id}`).reverse()) open.push(child);
  }
  for (const id of Object.keys(documents)) {
    const chain = new Set<string>();
    for (let at = id; documents[at] !== undefined && !placed.has(at) && !chain.has(at); ) {
      chain.add(at);
      at = word(documents[at]?.parentDocumentId);
    }
    for (const above of [...chain].reverse()) {
      const parent = word(documents[above]?.parentDocumentId);
      addDocument(above, placed.has(parent) ? `${path}#${parent}` : path);
    }
  }
  for (const [id, attachment] of Object.entries(attachments)) {
    const key = word(attachment.key);
    if (!entries.has(key)) continue;
    byId.set(id, key);
    if (files.has(key)) continue;
    files.add(key);
    const parent = byId.get(word(attachment.documentId)) ?? path;
    items.push({ path: key, parent, kind: 'file', name: cleanName(word(attachment.name) || nameOf(key)), entry: key });
  }
}

function structureOf(nodes: unknown, parent: string): { id: string; parent: string; children: unknown }[] {
  if (!Array.isArray(nodes)) return [];
  return nodes.flatMap((node) =>
    isObject(node) && word(node.id) !== '' ? [{ id: word(node.id), parent, children: node.children }] : [],
  );
}

/** Returns the id at the end of an Outline URL: `/doc/title-abc123`, `…attachments.redirect?id=…`. */
export function outlineId(href: string): string | undefined {
  const attachment = /\/api\/attachments\.redirect\?(?:[^#]*&)?id=([\w-]+)/.exec(href)?.[1];
  if (attachment !== undefined) return attachment;
  const page = /(?:^|\/)(?:doc|collection)\/([\w~%.-]+)/.exec(href)?.[1];
  return page === undefined ? undefined : page;
}

function contentOf(facts: Facts, data: unknown): ItemContent {
  const losses = createLosses();
  const html = prosemirrorHtml(data, losses);
  const icon = word(facts.icon) || word(facts.emoji);
  return {
    title: cleanName(word(facts.title) || word(facts.name)),
    // Other icons are names of drawings that only Outline has.
    icon: icon !== '' && !/^[\w-]+$/.test(icon) ? icon : undefined,
    html,
    createdAt: momentOf(word(facts.createdAt)),
    updatedAt: momentOf(word(facts.updatedAt)),
    author: word(facts.createdByEmail) || word(facts.createdByName) || undefined,
    metadata: facts.template === true ? { template: true } : {},
    warnings: losses.list(),
  };
}

/** Opens an export of Outline as JSON: a file for each collection with its documents, and their attachments. */
export async function openOutlineJson(bundle: Bundle): Promise<Source> {
  const entries = new Set(bundle.entries.map(({ path }) => path));
  const found: ExportContents = { items: [], skipped: [], byId: new Map(), files: new Set() };
  for (const { path } of bundle.entries) {
    if (isLitter(path))
      found.skipped.push({ path, code: 'system_file', message: 'A file that the operating system created.' });
    else if (/(?:^|\/)metadata\.json$/.test(path))
      found.skipped.push({ path, code: 'export_metadata', message: 'Metadata that Outline adds to the export.' });
    else if (/^[^/]+\.json$/.test(path.replace(/^[^/]+\/(?=[^/]+\.json$)/, ''))) {
      const collection = await readCollection(bundle, path);
      if (collection !== undefined) addCollection(path, found, collection, entries);
      else found.skipped.push({ path, code: 'unknown_shape', message: 'JSON that is not an Outline collection.' });
    }
  }
  if (found.items.length === 0) throw new ImportFault('no_pages', 'The source contains no Outline collection.');
  const known = new Set([...found.items.map(({ path }) => path), ...found.skipped.map(({ path }) => path)]);
  for (const { path } of bundle.entries)
    if (!known.has(path))
      found.skipped.push({ path, code: 'not_linked', message: 'A file that no collection refers to.' });

  let held: { path: string; collection: Promise<Collection | undefined> } | undefined;
  return {
    items: found.items,
    skipped: found.skipped,
    async read(item) {
      const [path = '', id] = item.path.split('#');
      if (item.kind === 'file') return {};
      if (held?.path !== path) held = { path, collection: readCollection(bundle, path) };
      const collection = await held.collection;
      if (collection === undefined) throw new ImportFault('unknown_shape', `${path} is not an Outline collection.`);
      const { collection: facts, documents } = collection;
      if (id === undefined) {
        const content = contentOf(facts, facts.data);
        return item.kind === 'folder'
          ? { ...content, html: undefined, description: word(facts.description).slice(0, 2000) || undefined }
          : content;
      }
      const document = documents[id];
      if (document === undefined) throw new ImportFault('missing_page', `${path} has no document ${id}.`);
      return contentOf(document, document.data);
    },
    resolve(from, href) {
      if (/^\s*(?:#|$)/.test(href)) return { item: from.path };
      const id = outlineId(href);
      const item =
        id === undefined ? undefined : (found.byId.get(id) ?? found.byId.get(id.slice(id.lastIndexOf('-') + 1)));
      if (item !== undefined) return { item };
      if (/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(href)) return { outside: true };
      const [path] = pathsOf('', href).filter((candidate) => found.files.has(candidate));
      return path === undefined ? { broken: true } : { item: path };
    },
    notes: ['An export of Outline has no comments, earlier versions or permissions.'],
  };
}
