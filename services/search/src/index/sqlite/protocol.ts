import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import type { EmbeddingModel } from '../../embedding/port.js';
import type { EntryVectors, RankQuery, VectorQuery } from '../port.js';
import type { Limits } from './file.js';
import type { Inspection } from './inspect.js';

/** Holds what the thread is started with. */
export interface ThreadData {
  readonly path: string;
  readonly limits?: Limits;
}

/**
 * The requests to the thread. A search is sent as JSON in both directions, a ranking too except for its vector, and the
 * result of `nearest` as JSON, because that costs least.
 */
export type Task =
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'upsert'; readonly entries: readonly IndexEntry[] }
  | { readonly kind: 'remove'; readonly ids: readonly string[] }
  | { readonly kind: 'fill'; readonly entries: readonly IndexEntry[] }
  | { readonly kind: 'unembedded'; readonly model: string; readonly limit: number }
  | { readonly kind: 'putVectors'; readonly model: EmbeddingModel; readonly entries: readonly EntryVectors[] }
  | { readonly kind: 'inspect'; readonly question: Inspection }
  | { readonly kind: 'nearest'; readonly query: VectorQuery }
  | { readonly kind: 'rank'; readonly query: string; readonly vector: RankQuery['vector'] }
  | { readonly kind: 'vectorStats' | 'dropVectors'; readonly model: string }
  | { readonly kind: 'beginRebuild' | 'commitRebuild' | 'abortRebuild' | 'stats' | 'models' | 'close' };

export interface Request {
  readonly id: number;
  readonly task: Task;
}

export type Reply = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string };
