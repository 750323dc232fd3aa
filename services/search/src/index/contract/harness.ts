import type { IndexEntry, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import { IndexEntry as IndexEntryMessage } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { parseQuery } from '../../domain/query.js';
import type { EmbeddingModel } from '../../embedding/port.js';
import type { ChunkVector, Hit, IndexAnswer, IndexQuery, NearHit, SearchIndex, VectorQuery } from '../port.js';

export const ORG = 'org-1';
export const WORKSPACE = 'ws-1';

/** Creates an entry with defaults for everything that is not given. */
export function entry(id: string, parts: Partial<IndexEntry> = {}): IndexEntry {
  return IndexEntryMessage.fromPartial({
    id,
    tenant: ORG,
    workspaceId: WORKSPACE,
    boundaryId: parts.workspaceId ?? WORKSPACE,
    type: ResourceType.DOCUMENT,
    name: id,
    metadataJson: '{}',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    version: 1,
    contentVersion: 1,
    ...parts,
  });
}

/** Creates a filter that admits everything in some workspaces. */
export function everythingIn(...workspaceIds: string[]): SearchFilter {
  return {
    workspaceIds,
    openWorkspaceIds: workspaceIds,
    boundaryIds: [],
    principals: [],
    granted: [],
    lost: [],
    tagIds: [],
    tagTerms: [],
  };
}

/** Creates a filter on the workspace that admits only what is given. */
export function admitting(parts: Partial<SearchFilter>): SearchFilter {
  return { ...everythingIn(WORKSPACE), openWorkspaceIds: [], ...parts };
}

/** Creates a model that exists only by its vectors. */
export function modelOf(id: string, dimensions: number): EmbeddingModel {
  return { id, name: id, dimensions, maxTokens: 256 };
}

export const MODEL = modelOf('contract-4', 4);

/** Returns a vector of unit length in the direction of some numbers. */
export function unit(...numbers: number[]): Float32Array {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / length);
}

/** Creates a chunk that covers the whole text. */
export function chunk(vector: Float32Array, start = 0, end = 1_000_000): ChunkVector {
  return { start, end, vector };
}

type QueryOptions = Partial<Omit<IndexQuery, 'plan'>>;
type VectorQueryOptions = Partial<Omit<VectorQuery, 'vector'>>;

export interface Bench {
  readonly index: SearchIndex;
  /** Replaces the content of the index. */
  hold(...entries: IndexEntry[]): Promise<void>;
  ask(query: string, parts?: QueryOptions): Promise<IndexAnswer>;
  /** Returns the ids found, best first. */
  ids(query: string, parts?: QueryOptions): Promise<string[]>;
  /** Returns the only hit. */
  only(query: string, parts?: QueryOptions): Promise<Hit>;
  /** Stores vectors for entries that need them, by id; other entries are left unchanged. */
  embed(chunks: Readonly<Record<string, readonly ChunkVector[]>>, model?: EmbeddingModel): Promise<void>;
  near(vector: Float32Array, parts?: VectorQueryOptions): Promise<readonly NearHit[]>;
}

export function createBench(index: SearchIndex): Bench {
  let held: string[] = [];
  const ask = (query: string, parts: QueryOptions = {}): Promise<IndexAnswer> =>
    index.search({
      filter: everythingIn(WORKSPACE),
      narrowing: {},
      offset: 0,
      limit: 50,
      highlight: true,
      ...parts,
      plan: parseQuery(query),
    });
  return {
    index,
    async hold(...entries) {
      await index.remove(held);
      held = entries.map(({ id }) => id);
      await index.upsert(entries);
    },
    ask,
    ids: async (query, parts) => (await ask(query, parts)).hits.map(({ id }) => id),
    async only(query, parts) {
      const { hits } = await ask(query, parts);
      const [hit] = hits;
      if (hit === undefined || hits.length > 1) throw new Error(`${hits.length} hits for ${query}`);
      return hit;
    },
    async embed(chunks, model = MODEL) {
      const needy = await index.unembedded(model.id, 10_000);
      const put = needy.flatMap(({ id, textHash }) => {
        const ofEntry = chunks[id];
        return ofEntry === undefined ? [] : [{ id, textHash, chunks: ofEntry }];
      });
      await index.putVectors(model, put);
    },
    near: (vector, parts = {}) =>
      index.nearest({
        model: MODEL.id,
        filter: everythingIn(WORKSPACE),
        narrowing: {},
        groupBy: 'resource',
        limit: 50,
        ...parts,
        vector,
      }),
  };
}

/** Returns the marked parts of a snippet as texts. */
export function marked(
  snippet: { text: string; ranges: readonly (readonly [number, number])[] } | undefined,
): string[] {
  if (snippet === undefined) return [];
  const points = [...snippet.text];
  return snippet.ranges.map(([start, end]) => points.slice(start, end).join(''));
}

export type Use = () => Bench;
