import type { IndexEntry, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Snippet } from '../domain/highlight.js';
import type { FacetName, Field, Narrowing } from '../domain/narrowing.js';
import type { QueryPlan } from '../domain/query.js';
import type { Search } from '../domain/request.js';
import type { EmbeddingModel } from '../embedding/port.js';

/** Number of matches up to which totals are exact. */
export const EXACT_TOTAL = 1000;

/** Maximum number of matches that are counted for facets; they are not necessarily the best ones. */
export const MAX_FACETED_MATCHES = 10_000;

/** Maximum characters of an entry's text that are searched. */
export const MAX_TEXT_CHARS = 1_000_000;

/** Maximum characters of an entry's comments that are searched. */
export const MAX_COMMENT_CHARS = 200_000;

export interface IndexQuery {
  readonly plan: QueryPlan;
  /** What the caller may find. */
  readonly filter: SearchFilter;
  readonly narrowing: Narrowing;
  /** At least one; `USUAL_FIELDS` by default. */
  readonly fields?: readonly Field[];
  readonly offset: number;
  readonly limit: number;
  /** Omits hits below this score. */
  readonly minScore?: number;
  readonly facets?: readonly FacetName[];
  /** Whether snippets are requested. */
  readonly highlight: boolean;
  /** Whether only id, type and score of each hit are requested; `matchedIn` and `snippets` stay empty. */
  readonly bare?: boolean;
  /** Whether only entries with all terms are returned, the last and a corrected one in any form. */
  readonly every?: boolean;
}

export interface Hit {
  readonly id: string;
  readonly type: ResourceType;
  /** From 0 to 1, descending. At least 0.5 for entries with all terms, less for the others. */
  readonly score: number;
  readonly matchedIn: readonly Field[];
  readonly snippets: Readonly<Partial<Record<Field, Snippet>>>;
}

export interface IndexAnswer {
  readonly hits: readonly Hit[];
  /** Number of matches; exact up to `EXACT_TOTAL`, an estimate above. */
  readonly total: number;
  readonly totalIsEstimate: boolean;
  /** Whether there are further hits. */
  readonly more: boolean;
  /** Values of each requested facet with their counts, most frequent first. */
  readonly facets: Readonly<Partial<Record<FacetName, readonly (readonly [string, number])[]>>>;
  /** False while the index does not contain everything yet. */
  readonly complete: boolean;
}

export interface IndexStats {
  readonly entries: number;
  readonly bytes: number;
  readonly complete: boolean;
}

/** Describes an entry whose text has no vectors of a model yet. */
export interface UnembeddedEntry {
  readonly id: string;
  readonly workspaceId: string;
  readonly type: ResourceType;
  readonly name: string;
  readonly text: string;
  /** Identifies this state of name and text. */
  readonly textHash: string;
}

/** Bounds of a part of an entry's text, in UTF-16 units, as `slice` takes them. */
interface ChunkBounds {
  readonly start: number;
  readonly end: number;
}

export interface ChunkVector extends ChunkBounds {
  /** Has length 1. */
  readonly vector: Float32Array;
}

/** Holds the vectors of all chunks of one entry; none if it has no text. */
export interface EntryVectors {
  readonly id: string;
  readonly textHash: string;
  readonly chunks: readonly ChunkVector[];
}

export interface VectorQuery {
  /** Id of the model that created the vector. */
  readonly model: string;
  readonly vector: Float32Array;
  readonly filter: SearchFilter;
  readonly narrowing: Narrowing;
  /** Whether hits are entries, each with its best chunk, or chunks. */
  readonly groupBy: 'resource' | 'chunk';
  readonly limit: number;
  /** Omits hits below this similarity, which is between -1 and 1. */
  readonly minSimilarity?: number;
  /** Whether the texts of chunks are not requested; they stay empty then. */
  readonly bare?: boolean;
}

export interface NearHit {
  readonly id: string;
  readonly type: ResourceType;
  /** Cosine similarity from -1 to 1, descending. */
  readonly similarity: number;
  /** The entry's present text at the bounds that the chunk had when it was embedded. */
  readonly chunk: ChunkBounds & { readonly text: string };
}

/** Holds the vector of a query, and the model in the index that it can be compared with. */
export interface ModelVector {
  readonly model: string;
  readonly vector: Float32Array;
}

/** Requests places of a ranking by meaning, or by words and meaning. */
export interface RankQuery {
  readonly request: Search;
  /** What the caller may find. */
  readonly filter: SearchFilter;
  /** Without a vector only words count. */
  readonly vector: ModelVector | undefined;
  /** The places of the ranking that are returned. */
  readonly offset: number;
  readonly limit: number;
}

/** A place of a ranking, with what is shown of it. */
export interface RankedPlace {
  readonly id: string;
  readonly score: number;
  readonly keyword?: number | undefined;
  readonly semantic?: number | undefined;
  /** How its words match, if they do. */
  readonly hit?: Pick<Hit, 'matchedIn' | 'snippets'> | undefined;
  /** Passage nearest in meaning, if known. */
  readonly chunk?: NearHit['chunk'] | undefined;
  /** Whether it was found by the meaning of the passage, not only by its words. */
  readonly byMeaning: boolean;
}

export interface RankAnswer extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete'> {
  /** Best first. */
  readonly places: readonly RankedPlace[];
  /** Number of places in the ranking; it lacks results by words alone beyond a window. */
  readonly ranked: number;
}

export interface VectorStats {
  /** Number of entries with vectors of the model, and of those that still need them. */
  readonly embedded: number;
  readonly pending: number;
  readonly chunks: number;
}

/** A new index that is filled while the old one answers. */
export interface Rebuild {
  add(entries: readonly IndexEntry[]): Promise<void>;
  /** Replaces the old index by the new one. */
  commit(): Promise<void>;
  /** Deletes the new index. */
  abort(): Promise<void>;
}

/**
 * Finds entries by the meaning of their texts, using the vectors of their chunks.
 *
 * Duties of an adapter:
 * - Acknowledged changes are durable and visible to every later query.
 * - Vectors belong to a model. Those of an entry are deleted with it, and no longer count once its name or text has
 *   changed, though they are found until newer ones are stored; vectors of a text that has changed meanwhile are not
 *   stored.
 * - `nearest` returns entries that the same filter and narrowing admit in `search`, the most similar first. It may miss
 *   one in twenty of the truly nearest, but it returns `limit` hits if there are as many.
 * - A rebuild keeps the vectors of unchanged texts.
 * - Failures of the engine reject with `IndexFailure`.
 */
interface VectorIndex {
  /** Returns entries that need vectors of a model, the most recently changed first. */
  unembedded(model: string, limit: number): Promise<readonly UnembeddedEntry[]>;
  /** Replaces the vectors of this model that the entries have. */
  putVectors(model: EmbeddingModel, entries: readonly EntryVectors[]): Promise<void>;
  nearest(query: VectorQuery): Promise<readonly NearHit[]>;
  vectorStats(model: string): Promise<VectorStats>;
  /** Returns the models that the index has vectors of. */
  models(): Promise<readonly EmbeddingModel[]>;
  /** Deletes all vectors of a model. */
  dropVectors(model: string): Promise<void>;
}

/** Describes which state of an entry the index holds. */
export interface EntryState {
  readonly workspaceId: string;
  readonly boundaryId: string;
  readonly version: number;
  readonly contentVersion: number;
  readonly updatedAt: string;
}

/**
 * Reports what an index holds, for comparison with the tree.
 *
 * Duties of an adapter:
 * - Acknowledged changes are reported. During a rebuild the report is about the index that answers.
 * - Failures of the engine reject with `IndexFailure`.
 */
export interface InspectedIndex {
  /** Returns the number of entries of each workspace that has any. */
  counts(): Promise<ReadonlyMap<string, number>>;
  /** Returns the states of those of the entries that exist. */
  states(ids: readonly string[]): Promise<ReadonlyMap<string, EntryState>>;
  /** Returns the ids of all entries of a workspace. */
  idsOf(workspaceId: string): Promise<readonly string[]>;
  /** Returns random entries with equal probability, or all if there are no more than `count`. */
  sample(count: number): Promise<readonly string[]>;
}

/**
 * Finds entries by the words in their names, texts and comments, and by the meaning of their texts.
 *
 * Duties of an adapter:
 * - What `upsert` or `remove` acknowledged is durable and visible to every search that begins later.
 * - An entry that is older than the stored one, by version, then content version, then time of update, is ignored; an
 *   equally old one replaces it, because access may change without a version.
 * - A search returns only entries that its filter admits: those of `filter.workspaceIds` that lie in an open workspace,
 *   or within a readable boundary, or name one of the principals, or are granted, or lie below a granted one within the
 *   same boundary. Nothing of a lost subtree is found, whatever admits it, except at and below what is kept of it.
 *   Totals and facets count nothing else either.
 * - Texts are compared as this service's analyser folds them, in queries as in entries.
 * - Comments affect only searches that name them as a field.
 * - Entries with all terms of a query rank above those with some. A last word that occurs as written does not count as
 *   matched by words that begin with it, although these entries are found as well. Within both tiers the better match
 *   ranks first, names count more than texts, and the order is total.
 * - A prefix matches only as the query's last word; a word that no text contains matches those one edit away if it has
 *   five letters or more, and two edits away from nine on.
 * - Each substring of a text without spaces between words is found, down to a single character.
 * - A query without words returns what its filters admit, last updated first, if it has types, tags or negative terms
 *   or names ids, and nothing otherwise.
 * - No text of a query is interpreted as syntax of the engine.
 * - During a rebuild the old index answers and accepts changes; the new one gets them too, and nothing that was removed
 *   meanwhile comes back.
 * - Failures of the engine reject with `IndexFailure`, those that end by themselves with `IndexUnavailable`.
 */
export interface SearchIndex extends VectorIndex, InspectedIndex {
  /** Returns whether the index is new or was created by another version, so that everything has to be indexed again. */
  needsRebuild(): Promise<boolean>;
  /**
   * Rejects with `IndexUnavailable` while the engine accepts no change at all, such as one that cannot be reached or
   * refuses the credentials. Once this resolves, a change that fails is itself at fault.
   */
  requireAvailable(): Promise<void>;
  upsert(entries: readonly IndexEntry[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  search(query: IndexQuery): Promise<IndexAnswer>;
  /** Ranks by meaning, or by words and meaning, what `search` and `nearest` find. */
  rank(query: RankQuery): Promise<RankAnswer>;
  /** Begins a new index; one at a time. */
  rebuild(): Promise<Rebuild>;
  stats(): Promise<IndexStats>;
  /** Resolves when accepted writes are done. */
  close(): Promise<void>;
}

/** Lowest score of entries with all terms. */
export const HAS_ALL = 0.5;

/** Reports that the engine of the index fails, for now or for good. */
export class IndexFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IndexFailure';
  }
}

/** Reports that the engine cannot be reached or is not ready: the same work can succeed later. */
export class IndexUnavailable extends IndexFailure {}
