import type { NearHit, VectorQuery } from '../port.js';
import { type Document, MissingCollection, type Search, type SearchResult, type Server } from './client.js';
import { scopeOf } from './filter.js';
import { typeOf } from './hits.js';
import { documentsById, PAGE } from './lookup.js';
import type { ModelRecord, Models } from './models.js';
import type { Token } from './tokens.js';

interface NearestParts {
  readonly server: Server;
  readonly models: Models;
  /** Collection or alias of the entries. */
  readonly entries: string;
}

interface NearChunk {
  readonly document: Document;
  readonly similarity: number;
}

/** Number of admitted chunks below which all are compared; otherwise Typesense searches its graph. */
const EXACT_SEARCH_CHUNKS = 20_000;
/** Chunks that are requested at first per entry. */
const CHUNKS_EACH = 3;

/** Returns the entries or chunks nearest to a vector. */
export async function nearest(parts: NearestParts, query: VectorQuery): Promise<readonly NearHit[]> {
  const record = await parts.models.recall(query.model);
  const scope = scopeOf(query.filter, query.narrowing, 'of');
  if (record === undefined || scope === undefined || query.limit <= 0) return [];
  try {
    const near = await nearestBy(parts.server, record, query, scope);
    const minSimilarity = query.minSimilarity ?? -1;
    return await hitsOf(
      parts,
      query,
      near.filter(({ similarity }) => similarity >= minSimilarity),
    );
  } catch (error) {
    if (!(error instanceof MissingCollection)) throw error;
    // The model was dropped since it was cached.
    parts.models.forget(query.model);
    if ((await parts.models.find(query.model)) === undefined) return [];
    throw error;
  }
}

/** Returns `limit` hits if there are as many; with `groupBy: 'resource'` each entry by its best chunk. */
async function nearestBy(server: Server, record: ModelRecord, query: VectorQuery, scope: string): Promise<NearChunk[]> {
  const byEntry = query.groupBy === 'resource';
  const length = Math.hypot(...query.vector);
  const similar = ({ document, distance = 2 }: SearchResult['hits'][number]): NearChunk => {
    return { document, similarity: Math.max(-1, Math.min(1, (1 - distance) * length)) };
  };
  const base: Search = {
    collection: record.chunks,
    q: '*',
    filter_by: scope,
    include_fields: 'id,of,entry,type,start,end',
  };
  let compared = EXACT_SEARCH_CHUNKS;
  for (let wanted = query.limit * (byEntry ? CHUNKS_EACH : 1); ; wanted *= 4) {
    const vector = (k: number) => vectorQuery(query.vector, k, compared);
    const pages = Array.from({ length: Math.ceil(wanted / PAGE) }, (_, i): Search => {
      return { ...base, vector_query: vector(wanted), per_page: Math.min(PAGE, wanted), page: i + 1 };
    });
    const [count, ...found] = (await server.search([{ ...base, per_page: 0 }, ...pages])) as [
      SearchResult,
      ...SearchResult[],
    ];
    const chunks = found.flatMap(({ hits }) => hits.map(similar)).sort((a, b) => b.similarity - a.similarity);
    const near = byEntry ? firstOfEach(chunks) : chunks;
    const all = chunks.length >= count.found || compared > count.found;
    if (near.length >= query.limit || (all && chunks.length < wanted)) return near.slice(0, query.limit);
    // The graph search misses chunks when the filter admits few of them.
    if (chunks.length < wanted) compared = count.found + 1;
  }
}

function vectorQuery(vector: Float32Array, k: number, compared: number): string {
  const numbers = Array.from(vector, (number) => Number(number.toPrecision(8))).join(',');
  return `vector:([${numbers}], k:${k}, flat_search_cutoff:${compared})`;
}

function firstOfEach(chunks: readonly NearChunk[]): NearChunk[] {
  const seen = new Set<unknown>();
  return chunks.filter(({ document: { of } }) => !seen.has(of) && seen.add(of));
}

async function hitsOf({ server, entries }: NearestParts, { bare }: VectorQuery, near: readonly NearChunk[]) {
  const ids = [...new Set(near.map(({ document }) => document.of as Token))];
  const texts = bare ? undefined : await documentsById(server, entries, ids, 'text');
  return near.map(({ document, similarity }): NearHit => {
    const [start, end] = [Number(document.start), Number(document.end)];
    const text = String(texts?.get(String(document.of))?.text ?? '').slice(start, end);
    return { id: String(document.entry), type: typeOf(document), similarity, chunk: { start, end, text } };
  });
}
