import type { CallContext } from '@commonplace/kit/rpc';
import type {
  SearchedPage,
  SearchPublicationRequest,
  SearchPublicationResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import { textsOf } from '../content/kinds.js';
import { namedResources } from '../documents/index.js';
import type { Parts } from '../parts.js';
import { foldName } from '../stores/nodes.js';
import { bodyOf } from './bodies.js';
import { addressesOf, entryOf, faceOf, homeEntry } from './face.js';
import { type Opened, openAddress } from './open.js';
import type { Entry, Shown } from './outline.js';
import { closedOutcome } from './read-page.js';

const LIMIT = 20;
const MOST = 50;
const QUERY_LENGTH = 200;
/** Pages whose texts are looked through; of the others the names are. */
const TEXTS = 2000;
const AT_ONCE = 50;
const EXCERPT_BEFORE = 60;
const EXCERPT_LENGTH = 180;

/** Pages of one publication that hold all words of a query: first those whose names do. */
export async function searchPublication(
  parts: Parts,
  { address, query, limit }: SearchPublicationRequest,
  context: CallContext,
): Promise<SearchPublicationResponse> {
  const opening = await openAddress(parts, address, context);
  const { revision } = opening;
  if (opening.kind !== 'open') return { ...NONE, revision, ...closedOutcome(opening) };
  const { opened } = opening;
  const words = [...new Set(foldName(query.slice(0, QUERY_LENGTH)).split(/\s+/).filter(Boolean))];
  const most = Math.min(limit > 0 ? limit : LIMIT, MOST);
  const found = words.length === 0 ? [] : await matches(parts, opened, words, most + 1, context);
  const pages = { face: await faceOf(parts, opened), items: found.slice(0, most), hasMore: found.length > most };
  return { ...NONE, revision, pages };
}

const NONE = { pages: undefined, passwordRequired: undefined, missing: undefined };

async function matches(
  parts: Parts,
  opened: Opened,
  words: readonly string[],
  most: number,
  context: CallContext,
): Promise<SearchedPage[]> {
  const { outline } = opened;
  const entries: Entry[] = [
    ...(outline.head === undefined ? [] : [{ shown: outline.head, depth: 0 }]),
    ...outline.entries,
  ];
  const named: SearchedPage[] = [];
  const others: Entry[] = [];
  for (const entry of entries) {
    if (holdsAll(foldName(entry.shown.name), words)) named.push({ entry: messageOf(opened, entry), excerpt: '' });
    else others.push(entry);
  }
  const texted: SearchedPage[] = [];
  for (let at = 0; at < Math.min(others.length, TEXTS) && named.length + texted.length < most; at += AT_ONCE) {
    const some = others.slice(at, at + AT_ONCE);
    const texts = await textsOfShown(parts, opened, some, words, context);
    for (const entry of some) {
      const text = texts.get(entry.shown.id);
      if (text !== undefined) texted.push({ entry: messageOf(opened, entry), excerpt: excerptOf(text, words) });
    }
  }
  return [...named, ...texted].slice(0, most);
}

function messageOf(opened: Opened, entry: Entry) {
  return entry.depth === 0 ? homeEntry(opened) : entryOf(entry, addressesOf(opened));
}

/**
 * The texts that hold the words, as readers get them. What lies in the store is looked at first, and only where it
 * holds the words the page is made: what the page leaves out is not found.
 */
async function textsOfShown(
  parts: Parts,
  opened: Opened,
  entries: readonly Entry[],
  words: readonly string[],
  context: CallContext,
): Promise<ReadonlyMap<string, string>> {
  const live = entries.filter(({ shown }) => shown.keptId === undefined && shown.type !== 'file');
  const stored = await textsOf(
    parts.kinds,
    live.map(({ shown }) => shown.node),
  );
  const texts = new Map<string, string>();
  for (const { shown } of entries) {
    if (shown.type === 'file' || shown.type === 'folder') continue;
    const known = stored.get(shown.id);
    if (known !== undefined && !mayHold(known, words)) continue;
    const text = await publishedText(parts, opened, shown, context);
    if (holdsAll(foldName(text), words)) texts.set(shown.id, text);
  }
  return texts;
}

/** Cards show the names of what they lead to, which are no part of the stored text. */
function mayHold(stored: string, words: readonly string[]): boolean {
  return holdsAll(foldName(stored), words) || namedResources(stored).length > 0;
}

async function publishedText(parts: Parts, opened: Opened, shown: Shown, context: CallContext): Promise<string> {
  const addresses = addressesOf(opened);
  const terms = { opened, addresses, tree: [], format: 'html', offset: 0, limit: 500, prefix: '' } as const;
  const body = await bodyOf(parts, shown, terms, context);
  if ('document' in body) return plain(body.document.html);
  if ('table' in body) return body.table.rows.map(({ cells }) => cells.join(' ')).join('\n');
  return 'artifact' in body ? body.artifact.source : '';
}

function plain(html: string): string {
  return html
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim();
}

const holdsAll = (text: string, words: readonly string[]): boolean => words.every((word) => text.includes(word));

function excerptOf(text: string, words: readonly string[]): string {
  const folded = foldName(text);
  const first = Math.max(0, Math.min(...words.map((word) => folded.indexOf(word))) - EXCERPT_BEFORE);
  const piece = [...text.slice(first, first + EXCERPT_LENGTH)].join('').trim();
  return `${first > 0 ? '…' : ''}${piece}${first + EXCERPT_LENGTH < text.length ? '…' : ''}`;
}
