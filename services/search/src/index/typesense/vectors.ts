import { randomBytes } from 'node:crypto';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import type { EmbeddingModel } from '../../embedding/port.js';
import type { EntryVectors } from '../port.js';
import type { Action, Document, Server } from './client.js';
import { accessOf, type Texts } from './document.js';
import { among, both, type Filter } from './filter.js';
import type { Generations } from './generations.js';
import { allOf, deleteAll, documentsById } from './lookup.js';
import type { ModelRecord, Models } from './models.js';
import { type Token, valueToken } from './tokens.js';

export interface VectorParts {
  readonly server: Server;
  readonly models: Models;
  readonly generations: Generations;
}

const ACCESS_FIELDS = 'workspace,boundary,ancestors,below,principals,type,tags,created_by,metadata,updated';
const MAX_BATCH_DOCUMENTS = 100;
/** Significant digits of a 32-bit float. */
const DIGITS = 8;

function chunksOf(server: Server, { chunks }: ModelRecord, ids: readonly Token[]): Promise<Document[]> {
  if (ids.length === 0) return Promise.resolve([]);
  const include = 'id,of,text_hash';
  return allOf(server, { collection: chunks, q: '*', filter_by: among('of', ids), include_fields: include });
}

/** Replaces the vectors of entries whose texts are still the same. */
export async function putVectors(
  { server, models, generations }: VectorParts,
  model: EmbeddingModel,
  entries: readonly EntryVectors[],
): Promise<void> {
  const record = await models.add(model);
  const byId = new Map(entries.map((entry) => [valueToken(entry.id) as string, entry]));
  const taken = new Set<string>();
  await generations.onEach(async (names) => {
    const fields = `text_hash,embedded,entry,${ACCESS_FIELDS}`;
    const held = await documentsById(server, names.entries, [...byId.keys()] as Token[], fields);
    const same = [...held.values()].filter(({ id, text_hash: hash }) => hash === byId.get(id)?.textHash);
    const more = same.filter(({ id }) => !taken.has(id));
    const before = await chunksOf(server, record, idsOf(more));
    await writeChunks(
      server,
      record,
      'create',
      more.flatMap((entry) => chunkDocuments(entry, byId.get(entry.id) as EntryVectors)),
    );
    await deleteAll(server, record.chunks, 'id', idsOf(before));
    for (const { id } of same) taken.add(id);
    await keepFor(server, record, await chunksOf(server, record, idsOf(same)), names.entries);
    const marks = same.map(({ id, embedded = [] }) => {
      return { id, embedded: [...new Set([...(embedded as string[]), record.key])] };
    });
    await server.write(names.entries, 'update', marks);
    // Deletes the vectors of entries that another replica has removed or changed meanwhile.
    const after = await documentsById(server, names.entries, idsOf(same), 'text_hash');
    const lost = same.filter(({ id, text_hash: hash }) => after.get(id)?.text_hash !== hash);
    await deleteAll(server, record.chunks, 'of', idsOf(lost));
  });
}

function idsOf(documents: readonly Document[]): Token[] {
  return documents.map(({ id }) => id as Token);
}

/** Creates documents with new ids each time: Typesense 0.24 loses overwritten vectors in exhaustive searches. */
function chunkDocuments(entry: Document, { textHash, chunks }: EntryVectors): Document[] {
  const { id, text_hash: _, embedded: __, ...rest } = entry;
  const time = randomBytes(6).toString('hex');
  return chunks.map(({ start, end, vector }, i) => {
    const numbers = Array.from(vector, (number) => Number(number.toPrecision(DIGITS)));
    return { ...rest, id: `${id}.${time}.${i}`, of: id, text_hash: textHash, start, end, vector: numbers };
  });
}

async function writeChunks(server: Server, { chunks }: ModelRecord, action: Action, documents: readonly Document[]) {
  for (let at = 0; at < documents.length; at += MAX_BATCH_DOCUMENTS) {
    await server.write(chunks, action, documents.slice(at, at + MAX_BATCH_DOCUMENTS));
  }
}

/** Marks chunks as used by an index. */
async function keepFor(server: Server, record: ModelRecord, chunks: readonly Document[], entries: string) {
  const kept_for = valueToken(entries);
  await writeChunks(
    server,
    record,
    'update',
    chunks.map(({ id }) => ({ id, kept_for })),
  );
}

/** Returns which vectors of some entries' texts exist: the keys of the models by entry. */
export async function embeddedOf(
  { server, models }: VectorParts,
  entries: readonly (readonly [IndexEntry, Texts])[],
  keptFor: string,
): Promise<Map<string, string[]>> {
  const hashes = new Map(entries.map(([{ id }, { hash }]) => [valueToken(id) as string, hash]));
  const embedded = new Map<string, string[]>();
  for (const record of await models.all()) {
    const found = await chunksOf(server, record, [...hashes.keys()] as Token[]);
    const valid = found.filter(({ of, text_hash: hash }) => hashes.get(String(of)) === hash);
    await keepFor(server, record, valid, keptFor);
    for (const of of new Set(valid.map(({ of }) => String(of)))) {
      embedded.set(of, [...(embedded.get(of) ?? []), record.key]);
    }
  }
  return embedded;
}

/** Deletes vectors that a new index does not use, because it lacks their entry or text. */
export async function dropUnkept({ server, models }: VectorParts, keptFor: string): Promise<void> {
  const kept = valueToken(keptFor);
  for (const { chunks } of await models.all()) {
    await server.deleteWhere(chunks, `kept_for:!=\`${kept}\``);
  }
}

/** Updates the chunks of entries: deletes those of removed ones, and updates the access fields of the others. */
export async function followEntries(
  { server, models }: VectorParts,
  removed: readonly Token[],
  regarded: readonly IndexEntry[],
): Promise<void> {
  if (removed.length + regarded.length === 0) return;
  for (const record of await models.all()) {
    await deleteAll(server, record.chunks, 'of', removed);
    const access = new Map(regarded.map((entry) => [valueToken(entry.id) as string, accessOf(entry)]));
    const found = await chunksOf(server, record, [...access.keys()] as Token[]);
    const documents = found.map(({ id, of }) => ({ ...access.get(String(of)), id }));
    await writeChunks(server, record, 'update', documents);
  }
}

/** Returns a filter for existing entries with vectors of a model; the next function is for those without. */
export function presentWith(key: Token): Filter {
  return among('embedded', [key]);
}

export function presentWithout(key: Token | undefined): Filter {
  const there = 'gone:!=true' as Filter;
  return key === undefined ? there : both(there, `embedded:!=[\`${key}\`]` as Filter);
}
