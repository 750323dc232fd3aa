import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import type { LRUCache } from 'lru-cache';
import type { Document, Server } from './client.js';
import {
  accessDocument,
  commentsOf,
  isOlder,
  partitionOf,
  type State,
  stateOf,
  type Texts,
  textsOf,
  wholeDocument,
} from './document.js';
import { deleteAll, documentsById } from './lookup.js';
import type { Names } from './names.js';
import { type Token, valueToken } from './tokens.js';
import { embeddedOf, followEntries, type VectorParts } from './vectors.js';
import { wordDocuments } from './vocabulary.js';

/** The last change of an entry in a call. */
interface Change {
  readonly id: Token;
  /** Undefined when the entry is removed. */
  readonly entry?: IndexEntry;
  /** Whether it is removed first, so that the stored state does not matter. */
  readonly anew: boolean;
}

interface WriteParts extends VectorParts {
  /** Words that an index is known to contain: `collection id`. */
  readonly knownWords: LRUCache<string, true>;
}

/** Reduces the changes of one call to one change per entry. */
export function foldChanges(changes: readonly ({ upsert: IndexEntry } | { remove: string })[]): Change[] {
  const folded = new Map<string, Change>();
  for (const change of changes) {
    if ('remove' in change) {
      const id = valueToken(change.remove);
      folded.set(id, { id, anew: true });
      continue;
    }
    const { upsert: entry } = change;
    const id = valueToken(entry.id);
    const before = folded.get(id);
    if (before?.entry !== undefined && isOlder(stateOf(entry), stateOf(before.entry))) continue;
    folded.set(id, { id, entry, anew: before?.anew ?? false });
  }
  return [...folded.values()];
}

interface StoredState extends State {
  readonly text_hash: string;
  readonly access_hash: string;
}

/** Applies changes of different entries to one index. An index that is being filled keeps a mark of removed entries. */
export async function applyChanges(
  parts: WriteParts,
  names: Names,
  filling: boolean,
  changes: readonly Change[],
): Promise<void> {
  const { server } = parts;
  const come = changes.filter((change): change is Change & { entry: IndexEntry } => change.entry !== undefined);
  const gone = changes.filter(({ entry }) => entry === undefined).map(({ id }) => id);
  const held = await heldStates(server, names, come);
  const partial: Document[] = [];
  const whole: IndexEntry[] = [];
  const regarded: IndexEntry[] = [];
  const spoken: Words[] = [];
  for (const { id, entry, anew } of come) {
    const before = anew ? undefined : held.get(id);
    if (before !== undefined && isOlder(stateOf(entry), before)) continue;
    const access = accessDocument(entry);
    if (before !== undefined && before.access_hash !== access.access_hash) regarded.push(entry);
    if (before?.text_hash !== textsOf(entry).hash) {
      whole.push(entry);
      continue;
    }
    const { document, words } = commentsOf(entry);
    partial.push({ ...access, ...document });
    spoken.push({ partition: partitionOf(entry), words });
  }
  await addWords(parts, names, spoken);
  await writeWhole(parts, names, filling, 'upsert', whole);
  const lines = await server.write(names.entries, 'update', partial);
  // Another replica has removed these meanwhile without knowing the newer state.
  const missing = new Set(partial.filter((_, i) => lines[i] === 'missing').map(({ id }) => id));
  const again = come.filter(({ id }) => missing.has(id)).map(({ entry }) => entry);
  await writeWhole(parts, names, filling, 'upsert', again);
  if (filling) {
    const marks = gone.map((id) => ({ id, gone: true }));
    await server.write(names.entries, 'upsert', marks);
    return;
  }
  await deleteAll(server, names.entries, 'id', gone);
  await followEntries(parts, gone, regarded);
}

/** Fills an index; entries that exist in it or have a mark are left unchanged. */
export function fill(parts: WriteParts, names: Names, entries: readonly IndexEntry[]): Promise<void> {
  return writeWhole(parts, names, true, 'create', entries);
}

export const MAX_RANDOM = 2 ** 31;

/** Characters of texts, and entries, that are sent at once. */
const MAX_BATCH_CHARS = 2_000_000;
const MAX_BATCH_ENTRIES = 100;

async function writeWhole(
  parts: WriteParts,
  names: Names,
  filling: boolean,
  action: 'create' | 'upsert',
  entries: readonly IndexEntry[],
): Promise<void> {
  for (const some of portionsOf(entries)) {
    // In the index that answers, a new text has no vectors.
    const embedded = filling ? await embeddedOf(parts, some, names.entries) : undefined;
    const written = some.map(([entry, texts]) => wholeDocument(entry, texts));
    await addWords(parts, names, written);
    const marks = (id: string): object => ({
      embedded: embedded?.get(id) ?? [],
      written: Date.now(),
      chance: chanceOf(),
    });
    const documents = written.map(({ document }) => ({ ...document, ...marks(document.id) }));
    await parts.server.write(names.entries, action, documents);
  }
}

/** Returns a random position, by which samples are taken. */
function chanceOf(): number {
  return Math.floor(Math.random() * MAX_RANDOM);
}

function* portionsOf(entries: readonly IndexEntry[]): Generator<[IndexEntry, Texts][]> {
  let some: [IndexEntry, Texts][] = [];
  let size = 0;
  for (const entry of entries) {
    const texts = textsOf(entry);
    some.push([entry, texts]);
    size += texts.name.length + texts.text.length;
    if (size < MAX_BATCH_CHARS && some.length < MAX_BATCH_ENTRIES) continue;
    yield some;
    some = [];
    size = 0;
  }
  if (some.length > 0) yield some;
}

interface Words {
  readonly partition: Token;
  readonly words: Iterable<string>;
}

/**
 * Adds words before the entries that contain them, so that an entry is found by completions as soon as it is found at
 * all.
 */
async function addWords({ server, knownWords }: WriteParts, names: Names, written: readonly Words[]) {
  const words = new Map<string, Document>();
  for (const { partition, words: ofEntry } of written) {
    for (const word of wordDocuments(partition, ofEntry)) {
      if (!knownWords.get(`${names.words} ${word.id}`)) words.set(word.id, word);
    }
  }
  await server.write(names.words, 'upsert', [...words.values()]);
  for (const id of words.keys()) knownWords.set(`${names.words} ${id}`, true);
}

async function heldStates(server: Server, names: Names, changes: readonly Change[]): Promise<Map<string, StoredState>> {
  const fields = 'version,content_version,updated_at,text_hash,access_hash';
  const ids = changes.map(({ id }) => id);
  const found = await documentsById(server, names.entries, ids, fields);
  // Marks of removed entries have no state.
  for (const [id, document] of found) if (document.version === undefined) found.delete(id);
  return found as unknown as Map<string, StoredState>;
}
