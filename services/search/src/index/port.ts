import type { IndexEntry, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Answering } from '../domain/feedback.js';
import type { Snippet } from '../domain/highlight.js';
import type { QueryPlan } from '../domain/query.js';
import type { EmbeddingModel } from '../embedding/port.js';

/** A part of an entry that is searched apart from the others. */
export type Field = 'name' | 'text' | 'comments';

/** Where words are looked for unless others are named. */
export const USUAL_FIELDS: readonly Field[] = ['name', 'text'];

export type FacetName = 'type' | 'workspace' | 'tag' | 'created_by';

/** Matches are counted exactly up to here. */
export const EXACT_TOTAL = 1000;

/** Matches that are looked at for facets; the best are not preferred. */
export const MOST_FACETED = 10_000;

/** Characters of an entry's text that are searched. */
export const MOST_TEXT = 1_000_000;

/** Characters of an entry's comments that are searched. */
export const MOST_COMMENTS = 200_000;

/** What an entry must be beside matching the words; what is absent asks nothing. */
export interface Narrowing {
  readonly types?: readonly ResourceType[];
  readonly excludedTypes?: readonly ResourceType[];
  /** Below this resource. */
  readonly parentId?: string;
  /** Ids of actors, any of them. */
  readonly createdBy?: readonly string[];
  readonly updatedAfter?: string;
  readonly updatedBefore?: string;
  /** Values of the metadata, all of them. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** Any of the tags of every list. */
  readonly tags?: readonly (readonly string[])[];
  readonly excludedTags?: readonly string[];
  /** One of these entries. */
  readonly ids?: readonly string[];
}

export interface IndexQuery {
  readonly plan: QueryPlan;
  /** What the caller may find. */
  readonly filter: SearchFilter;
  readonly narrowing: Narrowing;
  /** One or more; `USUAL_FIELDS` when absent. */
  readonly fields?: readonly Field[];
  readonly offset: number;
  readonly limit: number;
  /** Leaves out hits below this score. */
  readonly minScore?: number;
  readonly facets?: readonly FacetName[];
  /** Snippets are wanted. */
  readonly highlight: boolean;
  /** Of each hit only id, type and score are wanted; `matchedIn` and `snippets` are left empty. */
  readonly bare?: boolean;
}

export interface Hit {
  readonly id: string;
  readonly type: ResourceType;
  /** 0 to 1, falling from hit to hit. Half and more for those that have all terms, less for the others. */
  readonly score: number;
  readonly matchedIn: readonly Field[];
  readonly snippets: Readonly<Partial<Record<Field, Snippet>>>;
}

export interface IndexAnswer {
  readonly hits: readonly Hit[];
  /** How many match, exact up to EXACT_TOTAL, above it a guess. */
  readonly total: number;
  readonly totalIsEstimate: boolean;
  /** Whether there are hits behind these. */
  readonly more: boolean;
  /** Per facet asked for, the values by falling count. */
  readonly facets: Readonly<Partial<Record<FacetName, readonly (readonly [string, number])[]>>>;
  /** False while the index does not hold everything yet. */
  readonly complete: boolean;
}

export interface IndexStats {
  readonly entries: number;
  readonly bytes: number;
  readonly complete: boolean;
}

/** An entry whose text has no vectors of a model yet. */
export interface Unembedded {
  readonly id: string;
  readonly type: ResourceType;
  readonly name: string;
  readonly text: string;
  /** Names this state of name and text. */
  readonly textHash: string;
}

/** A piece of an entry's text. Bounds are UTF-16 code units, as `slice` takes them. */
export interface ChunkBounds {
  readonly start: number;
  readonly end: number;
}

export interface ChunkVector extends ChunkBounds {
  /** Of unit length. */
  readonly vector: Float32Array;
}

/** The vectors of all chunks of one entry; none where it has no text to speak of. */
export interface EntryVectors {
  readonly id: string;
  readonly textHash: string;
  readonly chunks: readonly ChunkVector[];
}

export interface VectorQuery {
  /** The id of the model that has made the vector. */
  readonly model: string;
  readonly vector: Float32Array;
  readonly filter: SearchFilter;
  readonly narrowing: Narrowing;
  /** Entries, each with its best chunk, or chunks. */
  readonly groupBy: 'resource' | 'chunk';
  readonly limit: number;
  /** Leaves out what is less alike, -1 to 1. */
  readonly minSimilarity?: number;
  /** The texts of the chunks are not wanted; they are left empty. */
  readonly bare?: boolean;
  /**
   * Entries that answer: what is like them, each by its chunk nearest to the vector, is near too. A similarity is then
   * the mean of both, as `mixed` weighs them. Those without vectors of the model count for nothing.
   */
  readonly towards?: readonly Answering[];
}

export interface NearHit {
  readonly id: string;
  readonly type: ResourceType;
  /** Cosine, -1 to 1, falling from hit to hit. */
  readonly similarity: number;
  /** What now stands in the entry's text where the chunk stood when it was embedded. */
  readonly chunk: ChunkBounds & { readonly text: string };
}

export interface VectorStats {
  /** Entries that have vectors of the model, and those that still need them. */
  readonly embedded: number;
  readonly pending: number;
  readonly chunks: number;
}

/** A new index that is filled beside the one that answers. */
export interface Rebuild {
  add(entries: readonly IndexEntry[]): Promise<void>;
  /** From now on the new index answers; the old one is gone. */
  commit(): Promise<void>;
  /** Drops the new index. */
  abort(): Promise<void>;
}

/**
 * Finds entries by the meaning of their texts: the vectors of their chunks.
 *
 * Duties of an adapter:
 * - What was acknowledged is durable and seen by every question that comes later.
 * - Vectors are held by model. Those of an entry go with the entry, and no longer count once its name or text
 *   has changed, though they are found until newer ones are put; vectors of a text that has changed since are not taken.
 * - `nearest` gives entries that the same filter and narrowing admit as `search` does, the most alike first; it may
 *   miss one in twenty of the truly nearest, never the limit's worth of hits where there are as many.
 * - A rebuild carries the vectors of unchanged texts over.
 * - Failures of the engine reject with IndexFailure.
 */
export interface VectorIndex {
  /** Some entries that need vectors of a model, those of the latest changes first. */
  unembedded(model: string, limit: number): Promise<readonly Unembedded[]>;
  /** Takes the place of the vectors of this model that the entries had. */
  putVectors(model: EmbeddingModel, entries: readonly EntryVectors[]): Promise<void>;
  nearest(query: VectorQuery): Promise<readonly NearHit[]>;
  vectorStats(model: string): Promise<VectorStats>;
  /** The models that there are vectors of. */
  models(): Promise<readonly EmbeddingModel[]>;
  /** Forgets all vectors of a model. */
  dropVectors(model: string): Promise<void>;
}

/** Which state of an entry an index holds. */
export interface EntryState {
  readonly workspaceId: string;
  readonly boundaryId: string;
  readonly version: number;
  readonly contentVersion: number;
  readonly updatedAt: string;
}

/**
 * Tells what an index holds, for those who hold it against the tree.
 *
 * Duties of an adapter:
 * - What was acknowledged is told. While a rebuild runs, it is the index that answers which is looked at.
 * - Failures of the engine reject with IndexFailure.
 */
export interface InspectedIndex {
  /** How many entries there are of each workspace; of those that have any. */
  counts(): Promise<ReadonlyMap<string, number>>;
  /** The states of some entries, of those that are there. */
  states(ids: readonly string[]): Promise<ReadonlyMap<string, EntryState>>;
  /** All entries of a workspace. */
  idsOf(workspaceId: string): Promise<readonly string[]>;
  /** Some entries by chance, each as likely as the others; all where there are not more. */
  sample(count: number): Promise<readonly string[]>;
}

/**
 * Finds entries by the words in their names, texts and comments, and by the meaning of their texts.
 *
 * Duties of an adapter:
 * - What `upsert` or `remove` acknowledged is durable and seen by every search that begins later.
 * - An entry older than the one held, by version, then content version, then time of update, is ignored;
 *   an equally old one replaces it, for access may change without a version.
 * - A search gives only entries that its filter admits: those of `filter.workspaceIds` that lie in an
 *   open workspace, or within a readable boundary, or name one of the principals, or are a granted item,
 *   or lie below one within that item's own boundary. It counts nothing else in total and facets either.
 * - Texts are compared as the analyser of this service folds them, in queries as in entries.
 * - What comments hold changes no answer to a question that does not name them.
 * - Entries that have all terms of a query stand above those that have some; within both the better
 *   match stands first, names count more than texts, and the order is total.
 * - A part of a word finds words only as the query's last word; a word that no text has finds those one
 *   edit away from five letters on, two from nine on.
 * - Every substring of a text without spaces between words is found, down to one character.
 * - A query without words gives what its filters admit, last updated first, when it has type, tag
 *   or negative terms or names ids, and nothing otherwise.
 * - No text of a query is ever read as syntax of the engine beneath.
 * - While a rebuild runs, the index answers and takes changes; the new one has them too, and nothing
 *   removed meanwhile comes back.
 * - Failures of the engine reject with IndexFailure.
 */
export interface SearchIndex extends VectorIndex, InspectedIndex {
  /** The index is new, or was made by another version: everything is to be put in again. */
  needsRebuild(): Promise<boolean>;
  upsert(entries: readonly IndexEntry[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  search(query: IndexQuery): Promise<IndexAnswer>;
  /** Begins a new index. One at a time. */
  rebuild(): Promise<Rebuild>;
  stats(): Promise<IndexStats>;
  /** Ends when writes that were taken are done. */
  close(): Promise<void>;
}

/** Scores from here on are those of entries that have all terms. */
export const HAS_ALL = 0.5;

/** The engine beneath the index does not work, or not now. */
export class IndexFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IndexFailure';
  }
}
