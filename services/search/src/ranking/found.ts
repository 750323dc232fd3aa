import type { AccessibleResource, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Search } from '../domain/request.js';
import type { Hit, IndexAnswer, NearHit } from '../index/port.js';

/** Holds what is searched for: the request, and what the caller may find. */
export interface Question {
  readonly asked: Search;
  readonly filter: SearchFilter;
}

/** A place in an answer. */
export interface Found {
  readonly resource: AccessibleResource;
  readonly score: number;
  readonly keyword?: number | undefined;
  readonly semantic?: number | undefined;
  /** How its words match, if they do. */
  readonly hit?: Hit | undefined;
  /** Passage nearest in meaning, if known. */
  readonly chunk?: NearHit['chunk'] | undefined;
  /** Whether it was found by the meaning of the passage, not only by its words. */
  readonly byMeaning: boolean;
}

export interface FilledPage extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete' | 'more'> {
  readonly found: readonly Found[];
  /** Offset after the last hit that was examined. */
  readonly next: number;
}
